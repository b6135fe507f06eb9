"""Answers are scored as question-answering benchmarks score them."""

from __future__ import annotations

import pytest

from worker.results.scoring import Score, exact_match, f1


@pytest.mark.parametrize(
    ("answer", "expected", "exact", "score"),
    [
        ("The Eiffel Tower.", "eiffel tower", True, 1.0),
        ("Paris, France", "Paris", False, 2 / 3),
        ("42", "forty-two", False, 0.0),
        ("", "", True, 1.0),
        ("the", "", True, 1.0),
        ("", "x", False, 0.0),
        ("我爱编程。", "我爱编程", True, 1.0),
        ("北京市", "北京", False, 0.8),
        ("a cat and a cat", "cat", False, 0.5),
        ("$5", "5", True, 1.0),
    ],
)
def test_normalised_words_are_compared(answer: str, expected: str, exact: bool, score: float) -> None:
    assert exact_match(answer, expected) is exact
    assert f1(answer, expected) == pytest.approx(score)


def test_a_run_without_answer_counts_as_wrong() -> None:
    score = Score()
    assert score.as_dict() is None
    score.add("Paris", "Paris")
    score.add(None, "Rome")
    assert score.as_dict() == {"scored": 2, "exact_match": 0.5, "f1": 0.5}
