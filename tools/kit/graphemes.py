"""Characters as people count them: a letter with its accents, a flag, a family emoji are one each."""

from __future__ import annotations

import regex

_CLUSTER = regex.compile(r"\X")


def graphemes(text: str) -> list[str]:
    """Splits the text into user-perceived characters: Unicode's extended grapheme clusters."""
    found: list[str] = _CLUSTER.findall(text)
    return found
