"""A reply stuck in a loop is not an answer in any dialect; a repetition that a person may ask for is one."""

from __future__ import annotations

import time

import pytest

from tests.dialects.asking import labelled, parse
from worker.core.records import Answer, Malformed
from worker.dialects import DIALECTS
from worker.dialects.parsing.repeats import repeats_itself

LOOPS = [
    "The bridge is long, " + "long, " * 300,
    "The bridge is " + "so " * 400 + "long.",
    "The bridge:\n" + "- It spans the bay.\n" * 60,
    "I count once more to be sure of the number. " * 40,
    "7 1" * 400,
    "#" * 900,
    "这座桥" + "很长" * 400,
]
ASKED = [
    "\n".join(["I shall not run in the corridor."] * 20),
    "1, 2, 3, " * 40 + "and so on.",
    "=" * 80 + "\nTotal\n" + "=" * 80,
    "\n".join(f"{number} bottles of milk on the wall." for number in range(99, 0, -1)),
    "| a | b |\n|---|---|\n" + "".join(f"| {row} | 0 |\n" for row in range(100)),
    ", ".join(str(number) for number in range(1000)),
]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("text", LOOPS)
def test_a_loop_is_no_answer_and_the_model_is_told_so(name: str, text: str) -> None:
    parsed = parse(name, labelled(name, text))
    assert isinstance(parsed, Malformed), parsed
    assert "over and over" in parsed.reason


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("text", ASKED)
def test_lists_tables_and_lines_to_copy_out_are_answers(name: str, text: str) -> None:
    parsed = parse(name, labelled(name, text))
    assert isinstance(parsed, Answer), parsed
    assert parsed.text == text.strip()


def test_a_long_text_is_looked_through_fast() -> None:
    text = "abcdefghijklmnopqrstuvwxyz, " * 40_000
    began = time.process_time()
    assert repeats_itself(text)
    assert not repeats_itself(
        "".join(chr(65 + number % 61) * (1 + number % 7) for number in range(200_000)) + "end of it" * 9
    )
    assert time.process_time() - began < 1
