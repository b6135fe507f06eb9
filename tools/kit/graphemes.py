"""Characters as people count them: a letter with its accents, a flag, a family emoji are one each."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"


def graphemes(text: str) -> list[str]:
    """The text in user-perceived characters (the common rules of Unicode's extended grapheme clusters)."""
    found: list[str] = []
    start = 0
    for place in range(1, len(text)):
        if not _continues(text, start, place):
            found.append(text[start:place])
            start = place
    return [*found, text[start:]] if text else []


def _continues(text: str, start: int, place: int) -> bool:
    """Whether the character at `place` belongs to the cluster that begins at `start`."""
    before, character = text[place - 1], text[place]
    if before in "\r\n" or character in "\r\n":
        return before == "\r" and character == "\n"
    return (
        _extends(character)
        or (before == _JOINER and _is_pictograph(character))
        or (_is_flag_half(character) and place == start + 1 and _is_flag_half(before))
        or _hangul(before, character)
    )


def _extends(character: str) -> bool:
    """Accents, vowel signs, joiners, variation selectors, skin tones, tags of sub-national flags."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or character == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_pictograph(character: str) -> bool:
    return unicodedata.category(character) in ("So", "Sk") or "\U0001f000" <= character <= "\U0001faff"


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _hangul(before: str, after: str) -> bool:
    """Jamo that make up one Korean syllable."""
    leading = "\u1100" <= before <= "\u115f"
    vowel = "\u1160" <= before <= "\u11a7" or ("\uac00" <= before <= "\ud7a3" and (ord(before) - 0xAC00) % 28 == 0)
    syllable = "\uac00" <= before <= "\ud7a3" or "\u11a8" <= before <= "\u11ff"
    if leading:
        return "\u1100" <= after <= "\u11a7" or "\uac00" <= after <= "\ud7a3"
    return (vowel and "\u1160" <= after <= "\u11ff") or (syllable and "\u11a8" <= after <= "\u11ff")
