"""The contract of every dialect: the same suite runs over all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dialects.outcomes import TOOLS, act, got
from worker.core.records import Actions, Answer, Example, Malformed, Observed, Reply, Turn
from worker.dialects import DIALECTS, UnknownDialect, dialect
from worker.dialects.prompt import messages, system_prompt

ALL = list(TOOLS.values())
NAMES = list(DIALECTS)
CALL = Observed("get_weather", {"city": "Oslo"}, "3 °C", "c1")
EXAMPLE = Example("Warm in Oslo?", (Turn("I look.", (CALL,)),), "No, 3 °C.", "I know.")


def test_an_unknown_dialect_is_refused_and_told_the_known_ones() -> None:
    with pytest.raises(UnknownDialect, match=f'no dialect "yaml".*{", ".join(NAMES)}'):
        dialect("yaml")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_read_back_as_the_call_and_the_answer_it_shows(name: str) -> None:
    _, acting, observation, answering = dialect(name).example(EXAMPLE)
    action = dialect(name).parse(_reply(acting), ALL)
    assert isinstance(action, Actions)
    assert got(action) == act("get_weather", {"city": "Oslo"})
    assert action.thought == "I look."
    assert "3 °C" in observation["content"]
    answer = dialect(name).parse(_reply(answering), ALL)
    assert isinstance(answer, Answer)
    assert answer.text == "No, 3 °C."


@pytest.mark.parametrize("name", NAMES)
def test_the_worked_example_in_the_instructions_is_in_the_dialect_itself(name: str) -> None:
    if name == "native":
        return
    text = dialect(name).instructions(ALL)
    example = text[text.index("One example") :]
    lines = [part for part in example.split("\n\n") if "example_lookup" in part]
    parsed = dialect(name).parse(Reply(lines[-1]), ALL)
    assert isinstance(parsed, Actions)
    assert parsed.calls[0].tool == "example_lookup"
    answer = dialect(name).parse(Reply(example.split("\n\n")[-1]), ALL)
    assert isinstance(answer, Answer)
    assert answer.text == "Three nights cost 240 euros."


@pytest.mark.parametrize("name", [name for name in NAMES if name != "native"])
def test_the_instructions_list_each_tool_with_its_parameters_and_types(name: str) -> None:
    text = dialect(name).instructions(ALL)
    assert "\n- web_search(query: string, max_results?: integer)" in text
    assert "\n- convert_time(time: string, zone: string, days?: integer)" in text
    assert "Does web_search." in text


@pytest.mark.parametrize(
    ("name", "marker"),
    [
        ("react_json", "\nAction Input: {"),
        ("react_text", "\nAction Input: "),
        ("react_text", "Final Answer: "),
        ("react_brackets", "\nAction: tool[["),
        ("react_call", "Finish["),
        ("json", '"type": "tool_call"'),
    ],
)
def test_the_form_can_be_told_from_the_instructions_alone(name: str, marker: str) -> None:
    assert marker in dialect(name).instructions(ALL)
    others = [other for other in NAMES if other != name and marker in dialect(other).instructions(ALL)]
    assert others == [] or marker in ("\nAction Input: ", "Final Answer: ")


@pytest.mark.parametrize("name", NAMES)
def test_the_prompt_is_the_same_for_every_question_up_to_the_question(name: str) -> None:
    one = messages(dialect(name), system_prompt(dialect(name), ALL, "Be brief."), [EXAMPLE], "First?", [])
    two = messages(dialect(name), system_prompt(dialect(name), ALL, "Be brief."), [EXAMPLE], "Second?", [])
    assert one[:-1] == two[:-1]
    assert one[-1] == {"role": "user", "content": "First?"}
    assert one[0]["content"] == system_prompt(dialect(name), ALL, "Be brief.")
    assert "Be brief." in one[0]["content"]


@pytest.mark.parametrize("name", NAMES)
def test_history_shows_what_was_kept_and_never_the_invented_rest(name: str) -> None:
    if name in ("native", "json"):
        return
    acting = dialect(name).example(EXAMPLE)[1]["content"]
    parsed = dialect(name).parse(Reply(f"{acting}\nObservation: 99 °C\nFinal Answer: hot"), ALL)
    assert isinstance(parsed, Actions)
    assert parsed.kept == acting
    assert any("99 °C" in dropped for dropped in parsed.dropped)
    turn = Turn(parsed.thought, (CALL,), kept=parsed.kept)
    assert dialect(name).transcript(turn) == [
        {"role": "assistant", "content": acting},
        {"role": "user", "content": "Observation: <result>3 °C</result>"},
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_malformed_step_shows_the_reply_and_then_the_reason(name: str) -> None:
    parsed = dialect(name).parse(Reply(""), ALL)
    assert isinstance(parsed, Malformed)
    assert parsed.reason
    said, told = dialect(name).transcript(Turn("", (), kept=parsed.kept, notice=parsed.reason))
    assert said["role"] == "assistant" and said["content"]
    assert told == {"role": "user", "content": parsed.reason}


@pytest.mark.parametrize("name", NAMES)
def test_the_last_notice_comes_last_and_no_two_messages_of_the_user_follow_each_other(name: str) -> None:
    turns = [Turn("I look.", (CALL,)), Turn("", (), kept="hm", notice="Write it right.")]
    for count in range(3):
        found = messages(
            dialect(name), system_prompt(dialect(name), ALL, ""), [EXAMPLE], "q", turns[:count], "Answer now."
        )
        assert found[-1]["content"].endswith("Answer now.")
        roles = [message["role"] for message in found]
        assert all(roles[at] != roles[at + 1] for at in range(len(roles) - 1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("finish", ["length"])
def test_an_answer_cut_at_the_length_limit_is_malformed(name: str, finish: str) -> None:
    answering = dialect(name).example(EXAMPLE)[-1]
    cut = str(answering["content"])[: -1 if name in ("json", "react_call") else None]
    parsed = dialect(name).parse(Reply(cut, finish, {"content": cut}), ALL)
    assert isinstance(parsed, Malformed)


def test_several_calls_of_a_step_become_one_pair_of_messages_each_where_a_reply_holds_one() -> None:
    turn = Turn("Both.", (CALL, Observed("current_time", {}, "noon")))
    roles = [message["role"] for message in dialect("react_json").transcript(turn)]
    assert roles == ["assistant", "user", "assistant", "user"]


def test_native_history_is_valid_for_the_api() -> None:
    calls = (CALL, Observed("current_time", {}, "noon", "c1"), Observed("current_time", {"timezone": "UTC"}, "one"))
    turns = [Turn("Both.", calls), Turn("Again.", calls)]
    found = messages(dialect("native"), system_prompt(dialect("native"), ALL, ""), [], "q", turns)
    seen: list[str] = []
    for at, message in enumerate(found):
        if message.get("tool_calls"):
            ids = [call["id"] for call in message["tool_calls"]]
            answered = found[at + 1 : at + 1 + len(ids)]
            assert [answer["tool_call_id"] for answer in answered] == ids
            assert all(answer["role"] == "tool" for answer in answered)
            assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in message["tool_calls"])
            seen += ids
    assert len(seen) == len(set(seen)) == 6


def test_native_sends_the_tools_with_their_schemas() -> None:
    request = dialect("native").request(ALL)
    assert request["tools"][0]["function"]["name"] == "calculator"
    assert request["tools"][0]["function"]["parameters"]["required"] == ["expression"]
    assert dialect("native").request([]) == {}
    assert all(dialect(name).request(ALL) == {} for name in NAMES if name != "native")


def _reply(message: dict[str, Any]) -> Reply:
    return Reply(message.get("content") or "", "stop", message)
