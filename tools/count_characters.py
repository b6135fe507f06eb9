"""Counts characters, which models are bad at since they read in tokens."""

from __future__ import annotations

import unicodedata

from tools.base import tool
from tools.kit.graphemes import graphemes


@tool(timeout_s=10.0, idempotent=True)
def count_characters(text: str, character: str | None = None) -> str:
    """Counts the characters of a text, or how often one character or word occurs in it. Use it instead of counting.

    Args:
        text: Exactly the text to count, without added quotes.
        character: Count only this character, letter or word. Leave it out to count all characters.

    Returns:
        The number; spaces and punctuation count, and are told apart where there are any.
    """
    if character:
        return _occurrences(text, character)
    clusters = graphemes(text)
    letters = sum(1 for cluster in clusters if unicodedata.category(cluster[0])[0] in "LN")
    spaces = sum(1 for cluster in clusters if cluster.isspace())
    others = len(clusters) - letters - spaces
    if letters == len(clusters):
        return _plural(len(clusters), "character")
    counts = ((letters, "letters and digits"), (spaces, "space"), (others, "other sign"))
    parts = [f"{count} {noun}" if noun.endswith("s") else _plural(count, noun) for count, noun in counts if count]
    return f"{_plural(len(clusters), 'character')}: {', '.join(parts)}."


def _occurrences(text: str, wanted: str) -> str:
    exact = _count(graphemes(text), graphemes(wanted))
    folded = _count(graphemes(text.casefold()), graphemes(wanted.casefold()))
    other_case = f" ({folded} when upper and lower case count as the same)" if folded != exact else ""
    return f'"{wanted}" occurs {_plural(exact, "time")} in the text{other_case}.'


def _count(clusters: list[str], wanted: list[str]) -> int:
    """Counts occurrences that do not overlap and do not split a character from its accent."""
    found = index = 0
    while index <= len(clusters) - len(wanted):
        if clusters[index : index + len(wanted)] == wanted:
            found += 1
            index += len(wanted)
        else:
            index += 1
    return found


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
