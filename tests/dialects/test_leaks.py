"""A tool call that leaks into the text is the call or unreadable, never an answer; a page about markup is an answer."""
# ruff: noqa: E501  (tables of replies)

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.asking import labelled, parse
from tests.dialects.innocent import INNOCENT
from tests.dialects.outcomes import bound
from tests.dialects.rendered import FORMATS
from worker.core.records import Actions, Answer, Malformed, ToolRequest
from worker.dialects import DIALECTS

NAMES = list(DIALECTS)
WORDS = st.text("abc .,é中:()'-", min_size=1, max_size=12).map(lambda text: f"x{text}y")
ARGS: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.one_of(
    st.tuples(st.just("get_weather"), st.fixed_dictionaries({"city": WORDS})),
    st.tuples(st.just("web_search"), st.fixed_dictionaries({"query": WORDS, "max_results": st.integers(1, 99)})),
    st.tuples(st.just("current_time"), st.just({})),
    st.tuples(st.just("no_such_tool"), st.fixed_dictionaries({"q": WORDS})),
)
BEFORE = st.sampled_from(["", "I look it up.", "I will check that now. ", "Let me see:\n", "Ich sehe nach.\n\n"])
AFTER = st.sampled_from(["", "", " Then I tell you.", "\nDone.", "\n<tool_response>3</tool_response>\nIt is 3."])
SETTINGS = settings(deadline=None, max_examples=60)


def ran(parsed: Actions) -> list[tuple[str, Any]]:
    return [(call.tool, bound(ToolRequest(call.tool, call.args))) for call in parsed.calls]


@pytest.mark.parametrize("form", FORMATS)
@SETTINGS
@given(
    name=st.sampled_from(NAMES),
    call=ARGS,
    before=BEFORE,
    after=AFTER,
    answers=st.booleans(),
    share=st.floats(0.5, 1) | st.just(1.0),
)
def test_a_leaked_call_is_never_shown_and_nothing_else_is_run(
    name: str, form: str, call: tuple[str, dict[str, Any]], before: str, after: str, answers: bool, share: float
) -> None:
    whole = FORMATS[form](*call)
    shown = whole[: max(round(len(whole) * share), 14)] if share < 1 else whole + after
    text = labelled(name, before + shown) if answers else before + shown
    parsed = parse(name, text)
    assert not isinstance(parsed, Answer), text
    if isinstance(parsed, Actions):
        assert ran(parsed) == [call], text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_a_call_that_can_be_read_without_doubt_is_the_call(name: str, form: str) -> None:
    args = {"query": "Elbe: flood", "max_results": 2}
    parsed = parse(name, f"I look it up.\n{FORMATS[form]('web_search', args)}")
    assert isinstance(parsed, Actions)
    assert ran(parsed) == [("web_search", args)]
    assert parsed.thought == "I look it up."


@pytest.mark.parametrize("form", FORMATS)
def test_several_leaked_calls_are_all_run_in_native_and_the_first_elsewhere(form: str) -> None:
    text = "\n".join(FORMATS[form]("get_weather", {"city": city}) for city in ("Oslo", "Bari"))
    both = parse("native", text)
    assert not isinstance(both, Answer)
    if isinstance(both, Actions):
        wanted = [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Bari"})]
        assert ran(both) == (wanted[:1] if "<|eom_id|>" in text else wanted)
    first = parse("react_json", text)
    if isinstance(first, Actions):
        assert ran(first) == [("get_weather", {"city": "Oslo"})]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "react_call"])
def test_markup_in_a_fence_or_in_backticks_is_shown_as_it_is(name: str, form: str) -> None:
    call = FORMATS[form]("get_weather", {"city": "Oslo"})
    pages = [f"It writes:\n```\n{call}\n```\nThat is all.", f"So:\n\n~~~xml\n{call}\n~~~"]
    pages += [f"Use `{call}` there."] if "`" not in call else []
    for page in pages:
        parsed = parse(name, labelled(name, page))
        assert isinstance(parsed, Answer), page
        assert parsed.text == page


@pytest.mark.parametrize("name", [name for name in NAMES if name != "react_call"])
@pytest.mark.parametrize("text", INNOCENT)
def test_an_answer_without_a_call_in_it_is_shown_as_it_is(name: str, text: str) -> None:
    parsed = parse(name, labelled(name, text))
    assert isinstance(parsed, Answer), parsed
    assert parsed.text == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("react_json", 'Answer: It is 4.\n<tool_call>{"name": "calculator", "arguments": {"expression": "2+2"}}</tool_call>'),
        ("react_json", '<tool_call>{"name": "calculator", "arguments": {"expression": "2+2"}}</tool_call>\nAnswer: 4'),
        ("react_json", '[TOOL_CALLS]web_search[ARGS]{"query": "x"}\nAction: calculator\nAction Input: {"expression": "1"}'),
        ("react_text", 'Action: calculator\nAction Input: <tool_call>{"name": "web_search", "arguments": {"query": "x"}}</tool_call>'),
        ("react_text", "Action: get_weather\nAction Input: Oslo</tool_call>"),
        ("react_brackets", "Action: web_search[[<|tool_call_begin|>functions.web_search:0]]"),
        ("json", '<function=web_search>{"name": "calculator", "arguments": {"expression": "1"}}</function>'),
        ("json", '<tool_call>\n<function=web_search>\n{"type": "answer", "content": "x"}'),
        ("native", '<tool_call>{"name": "get_weather", "arguments": {"town": "Oslo"}}</tool_call>'),
        ("native", "<function=web_search><parameter=query>a</parameter><parameter=max_results>few</parameter></function>"),
        ("native", '<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>'),
        ("native", 'For example, a call looks like this:\n<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'),
        ("native", '```\n<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>\n```'),
        ("native", "<|acme_begin|>{\"do\": \"it\"}<|acme_end|>"),
        ("native", "On it. <acme:function_call>get it</acme:function_call>"),
        ("native", "It is 4.</tool_call>"),
    ],
)  # fmt: skip
def test_a_call_beside_something_else_or_with_other_arguments_is_asked_for_again(name: str, text: str) -> None:
    parsed = parse(name, text)
    assert isinstance(parsed, Malformed), parsed
    assert "markup" in parsed.reason or "tool" in parsed.reason


@pytest.mark.parametrize("name", NAMES)
def test_a_call_in_a_thinking_block_is_not_acted_upon(name: str) -> None:
    for form in FORMATS.values():
        draft = form("get_weather", {"city": "Oslo"})
        closed = parse(name, f"<think>{draft}</think>\n" + labelled(name, "It is 4."))
        assert isinstance(closed, Answer) and closed.text == "It is 4."
        assert isinstance(parse(name, f"<think>I call {draft}"), Malformed)


def test_an_action_whose_input_is_its_own_call_in_markup_is_that_call() -> None:
    call = FORMATS["qwen"]("web_search", {"query": "Elbe"})
    parsed = parse("react_text", f"Thought: t\nAction: web_search\nAction Input: {call}")
    assert isinstance(parsed, Actions)
    assert ran(parsed) == [("web_search", {"query": "Elbe"})]


def test_history_never_shows_the_markup_that_a_call_was_read_from() -> None:
    for name in NAMES:
        parsed = parse(name, f"I look it up.\n{FORMATS['qwen']('web_search', {'query': 'Elbe'})}")
        assert isinstance(parsed, Actions)
        assert "<" not in parsed.kept


FLOODS = [
    "<function=a>", "<tool_call>\n", '<invoke name="a">', "<parameter=a>", "<arg_key>a</arg_key>", "[TOOL_CALLS]",
    "<|tool_call_begin|>", "<｜tool▁sep｜>", "<|a|>", "a<", "`<tool_call>`", "` ``", "<tool_call>; a", "[ARGS]{", "call:a{",
    "to=functions.a", "<escape>", '{"name": "calculator", ', '{"tool_calls": [', "</tool_call> a, ", "< | DSML | ",
    "<calculator>", "<tool ", "<|channel|>commentary to=a<|message|>", "<function=calculator><parameter=expression>",
    "[calculator(", "]<]minimax[>[", "<tool_call>calculator<arg_key>",
    "get_weather(city=", 'get_weather(city="a", ', "{name: 'calculator', ", "calculator {", "get_weather --city a ",
    "get_weather: a\n\n", "<code>\n", "\n<a>\n", "call_tool('get_weather', ", "{a} with get_weather ",
    "[get_weather ", "Thought: a\nCode:\n```\n", "<run name='get_weather'>", "<|begin_of_box|>", "[BEGIN FINAL RESPONSE]", "[INST] a. ", "calculator\n",
    '{"calculator": {"expression": ', "get_weather(city='a')\n",
]  # fmt: skip


@pytest.mark.parametrize("name", ["react_json", "json", "native"])
def test_no_flood_of_markup_takes_long(name: str) -> None:
    """On a quiet machine each takes less than 0.05 s of processor time; a quadratic pattern takes tens of seconds."""
    slow = []
    for flood in FLOODS:
        for head in ("", "Final Answer: "):
            began = time.process_time()
            parse(name, head + flood * (100_000 // len(flood)))
            took_s = time.process_time() - began
            slow += [(flood, head, took_s)] if took_s > 0.5 else []
    assert not slow


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", ["", "I look it up.", "Let me see:\n\n"])
@pytest.mark.parametrize(
    "written",
    [
        '{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}',
        '{"role": "assistant", "content": null, "tool_calls":[{"function":{"name":"no_such_tool","arguments":"{}"}}]}',
        '{"content": "", "tool_calls": [{"id": "c1", "type": "fun',
        '{"function_call": {"name": "web_search", "arguments": "{\\"query\\": \\"Elbe\\"}"}}',
        '✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo"}',
        '❖TOOL_CALL❖ : no_such_tool {"q": 1}',
        "✿FUNCTION✿:",
        '```tool_code\nprint(get_weather(city="Oslo"))\n```',
        '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
        "```tool_code\nprint(get_wea",
        '<tool▁call>get_weather<sep>{"city":"Oslo"}</tool▁call>',
    ],
)
def test_a_call_in_a_form_of_its_own_is_never_shown(name: str, before: str, written: str) -> None:
    for text in (before + written, labelled(name, before + written)):
        assert not isinstance(parse(name, text), Answer), text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "The list is [f(x), g(y)] for all x.",
        'A message holds "tool_calls": null where the model wrote text.',
        "Flowers: ✿ rose ✿ tulip ✿, and ✿SPRING✿ is the shop's name.",
        'Servers send `{"tool_calls": [{"id": "1", "function": {"name": "f"}}]}` beside a null content.',
        'So:\n\n```json\n{"tool_calls": [{"id": "1", "type": "function"}]}\n```\n\nThe list may be long.',
        "So writes Gemma:\n\n~~~~\n```tool_code\nprint(f())\n```\n~~~~\n\nRead it so.",
    ],
)
def test_a_text_about_such_forms_is_an_answer(name: str, text: str) -> None:
    parsed = parse(name, labelled(name, text))
    assert isinstance(parsed, Answer), parsed
    assert parsed.text == text
