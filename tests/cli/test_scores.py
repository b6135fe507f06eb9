"""When an answer contains the expected text."""

from __future__ import annotations

import pytest

from worker.cli.scores import holds


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("66", "66"),
        ("The result is 66.", "66"),
        ("**66**", "66"),
        ("结果是66。", "66"),
        ("It is 1,234,567.", "1234567"),
        ("Es sind 1.234.", "1234"),
        ("cela fait 1 234", "1234"),
        ("Paris it is", "paris"),
        ("= -7", "-7"),
    ],
)
def test_an_answer_holds_what_stands_in_it_by_itself(answer: str, expected: str) -> None:
    assert holds(answer, expected)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("660", "66"), ("166", "66"), ("66.5", "66"), ("0.66", "66"), ("", "66"), ("x66", "66"), ("-66", "66")],
)
def test_an_answer_does_not_hold_what_is_part_of_something_else(answer: str, expected: str) -> None:
    assert not holds(answer, expected)
