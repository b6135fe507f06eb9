"""Removes keys and passwords from what an endpoint sends back, before anything else sees it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

MAX_MESSAGE_CHARS = 400
HIDDEN = "[key]"

SHORTEST_KEY_CHARS = 16
"""Shorter keys (`ollama`, `EMPTY`, `x`) are placeholders: replies keep such words, errors do not."""

# What a key may look like when an endpoint echoes it, in full or partly masked.
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|key|xai|nvapi)-[\w*.\-]{4,}|\bBearer\s+[\w.\-+/=]{6,}|\bAIza[\w\-]{10,}|\bhf_\w{10,}"
    r"|\beyJ[\w\-]{10,}\.[\w\-]+\.[\w\-]*|(?<=://)[^\s/@]+(?=@)",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"[\\%]")


class Scrubber:
    """Holds the secrets sent with one call and removes them from what comes back. Never appears in a repr."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._long = [secret for secret in known if len(secret) >= SHORTEST_KEY_CHARS]
        self._escaped = [re.compile("".join(map(_spellings, secret))) for secret in self._long]
        self._short = [
            re.compile(rf"(?<![^\W_]){re.escape(secret)}(?![^\W_])")
            for secret in known
            if len(secret) < SHORTEST_KEY_CHARS
        ]

    def text(self, text: str) -> str:
        """Returns the text without the keys, however they are escaped."""
        for secret in self._long:
            text = text.replace(secret, HIDDEN)
        if _ESCAPED.search(text):
            for spelled in self._escaped:
                text = spelled.sub(HIDDEN, text)
        return text

    def tree(self, value: Any) -> Any:
        """Scrubs every text in parsed JSON, field names included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.tree(name): self.tree(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        return value

    def error(self, text: str) -> str:
        """Scrubs an endpoint's words for people: also short keys and what looks like a key; limits the length."""
        text = self.text(text)
        for secret in self._short:
            text = secret.sub(HIDDEN, text)
        text = _KEY_LIKE.sub(HIDDEN, " ".join(text.split()))
        return text if len(text) <= MAX_MESSAGE_CHARS else text[: MAX_MESSAGE_CHARS - 1] + "…"


@functools.lru_cache(maxsize=64)
def scrubber(secrets: tuple[str, ...]) -> Scrubber:
    """Returns the scrubber for these secrets; cached, since a process has few secrets and many calls."""
    return Scrubber(secrets)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Removes the given keys and whatever looks like one, and limits the length."""
    return scrubber(tuple(secrets)).error(text)


def _spellings(character: str) -> str:
    r"""Returns a pattern for a character: itself, `\u0041`, `%41`, or with the backslashes of nested strings."""
    code = ord(character)
    hexadecimal = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{code:02x}")
    return rf"(?:\\{{0,8}}{re.escape(character)}|\\{{1,8}}u00{hexadecimal}|%{hexadecimal})"
