"""Properties of every reply: no exception, no slow pattern, and what is written can be parsed back."""
# ruff: noqa: E501  (tables of text pieces)

from __future__ import annotations

import gc
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dialects.outcomes import TOOLS, act, got, read
from worker.core.records import Actions, Answer, Example, Malformed, Observed, Reply, Turn
from worker.dialects import DIALECTS, dialect

PIECES = st.sampled_from(
    [
        "Thought: ", "Action: ", "Action Input: ", "Observation: ", "Answer: ", "Final Answer: ", "Question: ", "\n",
        "calculator", "get_weather", "Finish", "[[", "]]", "[", "]", "(", ")", "{", "}", '"', "'", "`", "```", "```python\n",
        "```json\n", '{"city": "Oslo"}', '"type": "answer"', '"tool_call"', ": ", ", ", "<think>", "</think>", "<|im_end|>",
        "\\", "\\n", "\\u", "\u200b", "\r\n", "：", "观察：", "**", "#", "1. ", "- ", '"""', "<tool_call>", "city=", "/*", "//",
        " ", "a", "é", "😀", "\ud83d", "\x00", "9" * 30, "e", "true", "None",
    ]
)  # fmt: skip
UNTIDY = st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join)
NASTY = st.lists(
    st.sampled_from(
        ["Observation: x", "\nAction: calculator", "Final Answer: y", "[[", "]]", "[", "]", "{", "}", '"', "'", "`", "\n```\n",
         "```python", "<think>", "</think>", "<|im_end|>", "\\", "\\n", ")", "(", "=", ",", "\n", "\t", " ", "a", "é", "😀", "：",
         "#", "// x", "</s>", "\u200b", "Action Input:", '{"expression": "1"}', "none", "query=", "expression: "]
    ) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    min_size=1,
    max_size=8,
).map("".join)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | NASTY,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
RELAXED = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", list(DIALECTS))
@RELAXED
@given(output=UNTIDY, finish=st.sampled_from([None, "stop", "length"]))
def test_no_reply_makes_a_dialect_raise(name: str, output: str, finish: str | None) -> None:
    parsed = dialect(name).parse(Reply(output, finish), list(TOOLS.values()))
    assert isinstance(parsed, (Actions, Answer, Malformed))


@RELAXED
@given(
    message=st.dictionaries(
        st.sampled_from(["content", "tool_calls", "function_call", "refusal"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | UNTIDY,
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["id", "function", "name", "arguments", "type", "text"]), inner, max_size=4
                )
            ),
            max_leaves=8,
        ),
    )
)
def test_no_message_makes_native_raise(message: dict[str, Any]) -> None:
    parsed = dialect("native").parse(Reply("", None, message), list(TOOLS.values()))
    assert isinstance(parsed, (Actions, Answer, Malformed))


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "native"])
@RELAXED
@given(value=NASTY)
def test_an_action_with_any_text_is_read_back_as_it_was_written(name: str, value: str) -> None:
    example = Example("q", (Turn("think", (Observed("calculator", {"expression": value}, "4"),)),), "a")
    written = dialect(name).example(example)[1]["content"]
    assert got(read(name, written)) == act("calculator", {"expression": value}), written


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "native"])
@RELAXED
@given(value=VALUES, text=NASTY)
def test_an_action_with_several_arguments_is_read_back(name: str, value: Any, text: str) -> None:
    args = {"time": text, "zone": value}
    written = dialect(name).example(Example("q", (Turn("t", (Observed("convert_time", args, "4"),)),), "a"))[1][
        "content"
    ]
    assert got(read(name, written)) == act("convert_time", args), written


@RELAXED
@given(value=NASTY)
def test_a_native_call_is_read_back(value: str) -> None:
    message = dialect("native").transcript(Turn("t", (Observed("calculator", {"expression": value}, "4"),)))[0]
    assert got(read("native", message)) == act("calculator", {"expression": value})


@RELAXED
@given(args=st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_valid_json_is_never_changed(args: dict[str, Any]) -> None:
    for written in (json.dumps(args), json.dumps(args, ensure_ascii=False, indent=2)):
        parsed = read("react_json", f"Thought: t\nAction: web_search\nAction Input: {written}")
        assert isinstance(parsed, Actions)
        assert parsed.calls[0].args == json.loads(written)


@RELAXED
@given(code=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80))
def test_a_fenced_program_arrives_byte_for_byte(code: str) -> None:
    program = f"a = 1\n{code.replace('`', '').replace('~', '')}\nb = 2".replace('"""', "").replace("'''", "")
    parsed = read("react_json", f"Thought: t\nAction: python_executor\nAction Input: ```python\n{program}\n```")
    assert isinstance(parsed, Actions)
    assert parsed.calls[0].args == program


LARGE = 100_000
FLOODS = [
    " ", "\n", "-", "*", "#", "_", "`", "```\n", "[", "]", "[[", "]]", "(", ")", "{", "}", "{\"", "\"", "'", "\\", "\\\"", ",", ":", "：",
    "Action", "Action: ", "Action:\n", "Action: calculator\n", "Action: calculator\nAction Input: ", "Action Input: {", "Thought: ",
    "Thought:\n", "Observation: ", "\nObservation: x\n", "Answer: a\n", "Question: a\n", "Finish[", "Action: Finish[",
    "Action: calculator[[", "Action: calculator(", "calculator(a=", "calculator[[\n", "<think>", "</think>", "<think>\n", "\n</think> a\n",
    "<think></think>", "<|im_end|>", "<|im_end|>\n", "</s>", "<tool_call>", "<tool_call>{", "\n<tool_call>{\"name\": \"calculator\"}", "\"\"\"",
    "'''", "//", "/*", "# \n", "a, ", "a=1, ", "{\"a\": ", "{'a': ", "[1, ", "{\"a\": 1} ", "\\u00", "\\ud83d", "\u200b", "1", "1.", "e", "é",
    "1. ", "- ", "> ", "User: a\n\n", "\nResult: x", "a: b\n", "<|channel|>analysis<|message|>", "Action: calculator Action Input: ",
    "Thought: a. Final Answer: ", "\r", "\r\n", "```python\n", "~~~", "\"\"\"\n```\n", "{\"type\": \"answer\"}", "{\"tool_name\": 1}",
]  # fmt: skip


@pytest.mark.parametrize("name", list(DIALECTS))
def test_no_flood_of_100_kb_takes_long(name: str) -> None:
    """On a quiet machine each takes a tenth of a second at most; a quadratic pattern takes tens of seconds."""
    heads = {
        "react_json": "Thought: t\nAction: calculator\nAction Input: ",
        "react_text": "Thought: t\nAction: calculator\nAction Input: ",
        "react_brackets": "Thought: t\nAction: calculator[[",
        "react_call": "Thought: t\nAction: Finish[",
        "json": '{"type": "tool_call", "tool_name": "calculator", "tool_args": ',
        "native": "<tool_call>",
    }
    slow = []
    for flood in FLOODS:
        for head in ("", heads[name], "Answer: a\n"):
            output = head + flood * (LARGE // len(flood))
            took_s = _seconds(name, output)
            slow += [(flood, head, took_s)] if took_s > 1.0 else []
    assert not slow


def _seconds(name: str, output: str) -> float:
    gc.disable()  # it would look through all that other tests have left
    try:
        began = time.process_time()
        dialect(name).parse(Reply(output), list(TOOLS.values()))
        return time.process_time() - began
    finally:
        gc.enable()


def _wanted() -> list[dict[str, Any]]:
    lines = Path(__file__).with_name("wanted.jsonl").read_text("utf-8").strip("\n").split("\n")
    return [json.loads(line) for line in lines[::8]]


def test_a_reply_cut_at_any_place_makes_no_parser_raise_and_runs_no_part_of_a_call() -> None:
    for reply in (reply for reply in _wanted() if reply["dialect"] not in ("native", "react_text")):
        for length in range(min(len(reply["output"]), 200)):
            parsed = read(reply["dialect"], reply["output"][:length], "length")
            if isinstance(parsed, Actions) and isinstance(reply.get("args"), dict) and parsed.calls[0].args:
                assert got(parsed).args == reply["args"], f"{reply['output'][:length]!r} was run"


@pytest.mark.parametrize(
    "cut", ['{"type": "answer", "content": "a\\', '{"type": "tool_call", "tool_args": {"a": "\\u00']
)
def test_a_string_cut_in_an_escape_is_malformed(cut: str) -> None:
    assert isinstance(read("json", cut), Malformed)
