"""Finds API keys, at each call, so that a new key takes effect without a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from worker.core.errors import WrongKey
from worker.core.records import Usage

KEYS_DIR_VARIABLE = "STEPMILL_KEYS_DIR"


class KeySource:
    """Finds the key for a variable's name. Keys never appear in a repr.

    Looks first for a file of that name in the directory `STEPMILL_KEYS_DIR` (mounted secrets), read each time; then
    calls `read`, which returns the process's variables, `STEPMILL_KEYS_DIR` among them.
    """

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read

    def key(self, variable: str) -> str | None:
        """Returns None if nothing, or only white space, is set. Raises WrongKey if the key file cannot be read."""
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
            # Not chained: the decoder's error holds the bytes of the file.
            raise WrongKey(f"the key file {path} cannot be read: {why}", usage=Usage()) from None
