"""Every dialect through real workers: what is stored of a question with two tools, and what the model was sent."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select

from tests.engine.fleet import Fleet
from tests.engine.wholeness import assert_whole
from tools.registry import load_tools
from worker.agents import load_agents
from worker.dialects import DIALECTS, dialect
from worker.dialects.prompt import system_prompt
from worker.practice.untidy import KINDS
from worker.settings import Settings
from worker.store.schema.tables import attempts, steps, tool_calls

pytestmark = pytest.mark.timeout(300)

AGENTS = {
    "react_json": "assistant",
    "react_text": "classic",
    "react_brackets": "minimal",
    "react_call": "travel",
    "json": "structured",
    "native": "native",
}
TOOLS = ["calculator", "count_characters"]
THOUGHTS = ["I will use calculator for this.", "I will use count_characters for this.", "I know the answer now."]
SEEN = ["6 * 7 = 42", '"r" occurs 3 times in the text.']
ANSWER = "\n".join(SEEN)
IDS = ["call00001", "call00002"]
COUNTING = '{"text": "strawberry", "character": "r"}'
WRITTEN = {
    "react_json": [
        'Action: calculator\nAction Input: {"expression": "6 * 7"}',
        f"Action: count_characters\nAction Input: {COUNTING}",
        f"Answer: {ANSWER}",
    ],
    "react_text": [
        "Action: calculator\nAction Input: 6 * 7",
        f"Action: count_characters\nAction Input: {COUNTING}",
        f"Final Answer: {ANSWER}",
    ],
    "react_brackets": [
        "Action: calculator[[6 * 7]]",
        f"Action: count_characters[[{COUNTING}]]",
        f"Final Answer: {ANSWER}",
    ],
    "react_call": [
        'Action: calculator(expression="6 * 7")',
        'Action: count_characters(text="strawberry", character="r")',
        f"Action: Finish[{ANSWER}]",
    ],
    "json": [
        '{"type": "tool_call", "tool_name": "calculator", "tool_args": {"expression": "6 * 7"}}',
        f'{{"type": "tool_call", "tool_name": "count_characters", "tool_args": {COUNTING}}}',
        json.dumps({"type": "answer", "content": ANSWER}),
    ],
}


def question(number: int) -> str:
    return f"Use calculator(expression='{number} * 7') then count_characters(text='strawberry', character='r')."


def ask(fleet: Fleet, name: str, questions: Sequence[str]) -> str:
    """Submits the questions to the agent that ships for a dialect, with the two tools."""
    agents = load_agents(Settings(_env_file=None, model="", agents_file=None))
    config = agents.configuration(AGENTS[name])
    assert config.dialect == name
    return fleet.submit(questions, **config.body() | {"tools": TOOLS, "max_steps": 12})


def sent(fleet: Fleet, run_id: str) -> list[dict[str, Any]]:
    """What the model was asked for a run, in order, as it noted it itself."""
    tokens = {row.token for row in fleet.rows(select(attempts).where(attempts.c.run_id == run_id))}
    return [entry for entry in fleet.practice.ledger() if entry["request_id"] in tokens]


def stored(fleet: Fleet, run_id: str) -> tuple[list[Any], dict[int, list[Any]]]:
    """A run's steps in order, and its tool calls by step."""
    calls: dict[int, list[Any]] = defaultdict(list)
    query = select(tool_calls).where(tool_calls.c.run_id == run_id).order_by(tool_calls.c.step, tool_calls.c.call)
    for call in fleet.rows(query):
        calls[call.step].append(call)
    return fleet.rows(select(steps).where(steps.c.run_id == run_id).order_by(steps.c.step)), calls


def kept(step: Any) -> str:
    """What counts of a reply; stored only where that is not all of it."""
    return str(step.reply if step.kept is None else step.kept)


def test_in_every_dialect_a_question_with_two_tools_is_stored_and_sent_word_for_word(fleet: Fleet) -> None:
    fleet.practice.control(keep_messages=True)
    fleet.start(slots=4)
    batches = {name: ask(fleet, name, [question(6)]) for name in DIALECTS}
    for name, batch in batches.items():
        assert fleet.finish(batch) == {"succeeded": 1}, name
        (run,) = fleet.runs(batch)
        _assert_tidy_history(fleet, name, run)
        _assert_tidy_messages(fleet, name, run)
    assert_whole(fleet, *batches.values())


def _assert_tidy_history(fleet: Fleet, name: str, run: Any) -> None:
    found, calls = stored(fleet, run.id)
    assert [step.kind for step in found] == ["actions", "actions", "answer"]
    thoughts = {"json": ["", "", ""], "native": [*THOUGHTS[:2], ""]}.get(name, THOUGHTS)
    assert [step.thought for step in found] == thoughts
    assert [(call.tool, call.args, call.observation) for step in (1, 2, 3) for call in calls[step]] == [
        ("calculator", {"expression": "6 * 7"}, SEEN[0]),
        ("count_characters", {"text": "strawberry", "character": "r"}, SEEN[1]),
    ]
    assert [step.reply for step in found] == replies(name)
    assert (run.answer, found[2].answer, run.steps) == (ANSWER, ANSWER, 3)


def replies(name: str) -> list[str]:
    if name == "native":
        return [*THOUGHTS[:2], ANSWER]
    if name == "json":
        return WRITTEN[name]
    return [f"Thought: {thought}\n{written}" for thought, written in zip(THOUGHTS, WRITTEN[name], strict=True)]


def _assert_tidy_messages(fleet: Fleet, name: str, run: Any) -> None:
    entries = sent(fleet, run.id)
    begun = [
        {"role": "system", "content": _system(name)},
        {"role": "user", "content": question(6)},
    ]
    first, second = _turn(name, 0), _turn(name, 1)
    assert [entry["messages"] for entry in entries] == [begun, begun + first, begun + first + second]


def _turn(name: str, index: int) -> list[dict[str, Any]]:
    """A finished step as it is sent in the next ones."""
    said, seen = replies(name)[index], SEEN[index]
    if name != "native":
        return [
            {"role": "assistant", "content": said},
            {"role": "user", "content": f"Observation: <result>{seen}</result>"},
        ]
    arguments = ['{"expression": "6 * 7"}', COUNTING][index]
    call = {"id": IDS[index], "type": "function", "function": {"name": TOOLS[index], "arguments": arguments}}
    return [
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": IDS[index], "content": f"<result>{seen}</result>"},
    ]


def _system(name: str) -> str:
    registered = load_tools().tools
    agent = load_agents(Settings(_env_file=None, model="", agents_file=None)).get(AGENTS[name])
    return system_prompt(dialect(name), [registered[tool] for tool in TOOLS], agent.instructions)


def test_in_every_dialect_untidy_replies_lead_to_the_same_calls_and_answers(fleet: Fleet) -> None:
    fleet.practice.control(keep_messages=True, untidy="all", seed=4)
    fleet.start(slots=8)
    numbers = range(2, 12)
    batches = {name: ask(fleet, name, [question(number) for number in numbers]) for name in DIALECTS}
    for name, batch in batches.items():
        assert fleet.finish(batch) == {"succeeded": len(numbers)}, name
    by_run = _sent_by_run(fleet)
    for name, batch in batches.items():
        for number, run in zip(numbers, fleet.runs(batch), strict=True):
            _assert_meant(fleet, run, number)
            _assert_sent_as_stored(fleet, name, run, by_run[run.id])
    assert {entry["untidy"] for entry in fleet.practice.ledger()} >= set(KINDS), "every kind of untidiness was seen"
    assert_whole(fleet, *batches.values())


def _sent_by_run(fleet: Fleet) -> dict[str, list[dict[str, Any]]]:
    runs_of = {row.token: row.run_id for row in fleet.rows(select(attempts))}
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in fleet.practice.ledger():
        found[runs_of[entry["request_id"]]].append(entry)
    return found


def _assert_meant(fleet: Fleet, run: Any, number: int) -> None:
    """Whatever the replies looked like: both calls once, with their arguments, then the answer and nothing else."""
    found, calls = stored(fleet, run.id)
    kinds = [step.kind for step in found if step.kind != "malformed"]
    assert kinds == ["actions", "actions", "answer"]
    assert [(call.tool, call.args) for step in found for call in calls[step.step]] == [
        ("calculator", {"expression": f"{number} * 7"}),
        ("count_characters", {"text": "strawberry", "character": "r"}),
    ]
    lines = run.answer.replace("\r\n", "\n")  # one kind of untidiness; an answer's own line ends are not touched
    assert lines == ANSWER.replace("6 * 7 = 42", f"{number} * 7 = {number * 7}")
    assert all("think>" not in kept(step) for step in found), "reasoning is not sent again"


def _assert_sent_as_stored(fleet: Fleet, name: str, run: Any, entries: list[dict[str, Any]]) -> None:
    """Each request holds what is stored of the steps before it, and each stored reply is what the model sent."""
    found, calls = stored(fleet, run.id)
    assert len(entries) == len(found)
    told: list[tuple[str, Any]] = []
    for step, entry in zip(found, entries, strict=True):
        assert [(message["role"], message["content"]) for message in entry["messages"][2:]] == told
        assert step.reply == (entry["reply"]["content"] or "")
        told.append(("assistant", kept(step) or (None if calls[step.step] else "(empty reply)")))
        seen = [call.observation for call in calls[step.step]]
        marked = [f"<result>{text}</result>" for text in seen]
        told += [("tool", text) if name == "native" else ("user", f"Observation: {text}") for text in marked]
        told += [("user", step.notice)] if step.notice else []
