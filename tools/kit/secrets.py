"""Keeps the worker's secrets out of observations: masks the values of its secret settings in any text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from tools.environment import environment as variables

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)S?$", re.IGNORECASE)
_PASSWORD_IN_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/@\s:]*:([^@\s/]+)@", re.IGNORECASE)
_WORDS = re.compile(r"(?!sk-)[A-Za-z]+(?:[-_][A-Za-z]+)*")
MASK = "[hidden]"
SHORTEST_CHARS = 6
"""Shorter values are hardly secrets, and masking them would spoil ordinary text."""
SHORTEST_KEY_CHARS = 16
"""Shorter keys are placeholders such as `ollama` or `lm-studio`, which are left in results."""


def secret_values(environment: Mapping[str, str]) -> Iterator[str]:
    """Yields the values of variables named like secrets, and passwords in addresses."""
    for name, value in environment.items():
        if _SECRET_NAME.search(name):
            yield value
        for password in _PASSWORD_IN_ADDRESS.findall(value):
            yield from (password, unquote(password))


def mask_secrets(text: str, environment: Mapping[str, str] | None = None, *, in_error: bool = False) -> str:
    """Returns the text with every secret of the environment (by default the process's own) replaced.

    Short secrets that are ordinary words (a password `postgres`, a key `ollama`) are replaced in errors only.
    """
    values = set(secret_values(variables() if environment is None else environment))
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= SHORTEST_CHARS and (in_error or not _ordinary(value)):
            text = text.replace(value, MASK)
    return text


def _ordinary(value: str) -> bool:
    return len(value) < SHORTEST_KEY_CHARS and _WORDS.fullmatch(value) is not None
