"""Where API keys come from, looked up at each call so that a new key counts without a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from worker.core.errors import WrongKey
from worker.core.records import Usage

KEYS_DIR_VARIABLE = "STEPMILL_KEYS_DIR"


class KeySource:
    """Finds the key that a variable names. Keys are never part of a repr.

    First the file of that name in the directory `STEPMILL_KEYS_DIR` (how secrets are mounted), which is read each time;
    then `read`, which knows the process's variables and is asked for `STEPMILL_KEYS_DIR` too.
    """

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read

    def key(self, variable: str) -> str | None:
        """None where nothing, or only white space, is set. WrongKey: there is a file that cannot be read."""
        if not variable:
            return None
        return self._mounted(variable) or (self._read(variable) or "").strip() or None

    def _mounted(self, variable: str) -> str | None:
        directory = self._read(KEYS_DIR_VARIABLE)
        if not directory or "/" in variable:
            return None
        path = Path(directory) / variable
        try:
            return path.read_text("utf-8-sig").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            # Outside of the chain: the error of the decoder holds the bytes of the file.
            raise WrongKey(f"the key file {path} cannot be read: {why}", usage=Usage()) from None
