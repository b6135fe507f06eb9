"""A value that is written as code is not passed on as if the code were the value."""

from __future__ import annotations

import pytest

from tests.dialects.outcomes import TOOLS
from worker.core.records import Actions, Malformed, Reply
from worker.dialects import dialect

ALL = list(TOOLS.values())


def _read(call: str) -> Actions | Malformed:
    parsed = dialect("react_call").parse(Reply(f"Thought: I look.\nAction: {call}", "stop"), ALL)
    assert isinstance(parsed, Actions | Malformed)
    return parsed


@pytest.mark.parametrize(
    "call",
    [
        "get_weather(city=capital_of('Norway'))",
        "get_weather(city=cities(2))",
        'calculator(expression=repr(6 * 7) + "0")',
        "get_weather(city='Os' + 'lo')",
        "get_weather(city=names.first())",
        "get_weather(pick(3))",
    ],
)
def test_code_in_the_place_of_a_value_is_malformed(call: str) -> None:
    assert isinstance(_read(call), Malformed)


@pytest.mark.parametrize(
    ("call", "args"),
    [
        ("calculator(expression=sqrt(16) * 2)", {"expression": "sqrt(16) * 2"}),
        ("calculator(sqrt(16))", {"expression": "sqrt(16)"}),
        ("calculator(expression=250 * 4 - 1)", {"expression": "250 * 4 - 1"}),
        ("get_weather(city=Sankt Gallen)", {"city": "Sankt Gallen"}),
        ("get_weather(city=L'Aquila)", {"city": "L'Aquila"}),
        ("get_weather(city=Paris (France))", {"city": "Paris (France)"}),
    ],
)
def test_plain_words_and_expressions_without_quotes_are_taken(call: str, args: dict[str, str]) -> None:
    parsed = _read(call)
    assert isinstance(parsed, Actions)
    assert parsed.calls[0].args == args


@pytest.mark.parametrize("end", ["<|end|>", ""])
def test_an_announcement_in_harmonys_commentary_is_no_answer(end: str) -> None:
    said = f"<|channel|>commentary<|message|>First I will look at the map.{end}"
    assert isinstance(
        dialect("native").parse(Reply(said, "stop", {"role": "assistant", "content": said}), ALL), Malformed
    )


def test_of_an_announcement_and_a_final_message_the_latter_is_the_answer() -> None:
    said = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>At nine."
    parsed = dialect("native").parse(Reply(said, "stop", {"role": "assistant", "content": said}), ALL)
    assert getattr(parsed, "text", None) == "At nine."
