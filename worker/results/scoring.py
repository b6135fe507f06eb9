"""Exact match and F1 against an expected answer, normalised as in question-answering benchmarks."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# Scripts without spaces between words: each character counts as a word, as in benchmarks for these languages.
_UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")


def words(text: str) -> list[str]:
    """Returns the words that count: in lower case, without punctuation and English articles."""
    kept = "".join(c for c in text.lower() if not unicodedata.category(c).startswith("P") and c not in "$+<=>^`|~")
    return _UNSPACED.sub(r" \1 ", _ARTICLES.sub(" ", kept)).split()


def exact_match(answer: str, expected: str) -> bool:
    """Returns whether both have the same words in the same order."""
    return words(answer) == words(expected)


def f1(answer: str, expected: str) -> float:
    """Returns the harmonic mean of precision and recall over words, from 0 to 1."""
    given, wanted = words(answer), words(expected)
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted))


@dataclass(slots=True)
class Score:
    """Mean scores of ended runs that have an expected answer; a run without an answer scores 0."""

    scored: int = 0
    exact: int = 0
    f1_sum: float = 0.0

    def add(self, answer: str | None, expected: str) -> None:
        self.scored += 1
        if answer is not None:
            self.exact += exact_match(answer, expected)
            self.f1_sum += f1(answer, expected)

    def as_dict(self) -> dict[str, float | int] | None:
        """Returns the scores from 0 to 1; None if no run was scored."""
        if not self.scored:
            return None
        return {
            "scored": self.scored,
            "exact_match": round(self.exact / self.scored, 4),
            "f1": round(self.f1_sum / self.scored, 4),
        }
