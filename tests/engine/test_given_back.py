"""Endpoints that require their fields back, or are strict about a conversation's order and ids, over HTTP."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.engine.fleet import Fleet
from tests.engine.scripted import Body, ask, call, endpoint, refused, replied, spoken
from worker.store.admission.retry import retry_batch
from worker.store.schema.tables import runs, steps

pytestmark = pytest.mark.timeout(180)
ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

ACTION = 'Thought: I compute.\nAction: calculator\nAction Input: {{"expression": "{} + 1"}}'


def signature(number: int) -> Body:
    """As long and as odd as real ones."""
    return {"extra_content": {"google": {"thought_signature": f"{number}-é+/=\u2028" + "x" * 3000}}}


def signed(body: Body) -> tuple[int, Body]:
    """Wants the signature of each call back on that call; two calls at once carry one on the first."""
    for number, message in enumerate(spoken(body)):
        first, second = message["tool_calls"]
        if {name: first.get(name) for name in signature(0)} != signature(number) or "extra_content" in second:
            return refused("Function call is missing a thought_signature in functionCall parts.")
    number = len(spoken(body))
    if number == 3:
        return replied({"content": "It is 2."})
    both = [{**call(number), **signature(number)}, call(number + 10)]
    return replied({"content": None, "tool_calls": both, "annotations": [], "refusal": None}, "tool_calls")


def test_signatures_of_tool_calls_go_back_on_these_calls(fleet: Fleet) -> None:
    fleet.start(slots=2)
    with endpoint(signed) as server:
        assert fleet.finish(ask(fleet, server, "native")) == {"succeeded": 1}
        assert all(set(said) == {"role", "content", "tool_calls"} for r in server.requests for said in spoken(r.body))


def thinking(body: Body) -> tuple[int, Body]:
    """Wants its thoughts back with each message of its own."""
    for number, message in enumerate(spoken(body)):
        if message.get("reasoning_content") != f"Thought number {number}.":
            return refused("The `reasoning_content` in the thinking mode must be passed back to the API.")
    number = len(spoken(body))
    thought = {"reasoning_content": f"Thought number {number}.", "reasoning": None}
    if "tools" in body and number == 1:
        return replied({"content": None, "tool_calls": [{"function": {"name": "calculator", "arguments": "1 +"}}]}
                       | thought, "tool_calls")  # fmt: skip
    if "tools" in body:
        said = {"content": "It is 2."} if number == 3 else {"content": "", "tool_calls": [call(number)]}
    else:
        said = {"content": ["Hm.", ACTION.format(1), ACTION.format(2), "Answer: 2"][number]}
    return replied(said | thought)


@ON_SQLITE
@pytest.mark.parametrize("dialect", ["native", "react_json"])
def test_thoughts_go_back_with_every_message_that_carried_them_unreadable_ones_too(fleet: Fleet, dialect: str) -> None:
    fleet.start(slots=2)
    with endpoint(thinking) as server:
        assert fleet.finish(ask(fleet, server, dialect)) == {"succeeded": 1}


@ON_SQLITE
def test_what_one_endpoint_sent_never_goes_to_another(fleet: Fleet) -> None:
    fleet.start(slots=2)
    with endpoint(thinking) as server:
        batch = ask(fleet, server, "native", max_steps=3)
        assert fleet.finish(batch) == {"failed": 1}
        (run,) = fleet.runs(batch)
        found = fleet.rows(select(steps).where(steps.c.run_id == run.id).order_by(steps.c.step))
        assert {step.extras["message"]["reasoning_content"] for step in found[:2]} == {
            "Thought number 0.",
            "Thought number 1.",
        }
    # The same run goes on with another model.
    with endpoint(
        lambda body: replied({"content": str(sorted({name for said in spoken(body) for name in said}))})
    ) as other:
        assert found[0].endpoint_id
        config = fleet.configuration(base_url=other.base_url, model="m", dialect="native", tools=["calculator"])
        with fleet.store.write() as tx:
            tx.execute(update(runs).values(config_hash=config, error_code="internal"))
        assert retry_batch(fleet.store, batch) == 1
        assert fleet.finish(batch) == {"succeeded": 1}
        assert fleet.runs(batch)[0].answer == "['content', 'role', 'tool_calls']"


class Orderly:
    """As Mistral's: nine letters or digits, each id once, and nobody but the assistant after a tool."""

    def __call__(self, body: Body) -> tuple[int, Body]:
        wrong = self.wrong(body["messages"])
        if wrong:
            return refused(wrong)
        number = len(spoken(body))
        if "last allowed step" in body["messages"][-1]["content"]:
            return replied({"content": "It is 2."})
        if number == 1:
            return replied({"content": "", "tool_calls": [{"function": {"name": "calculator", "arguments": "{"}}]})
        same = [{**call(number), "id": "same"}, {**call(number + 1), "id": None}]
        return replied({"content": "", "tool_calls": same}, "tool_calls")

    @staticmethod
    def wrong(messages: list[Any]) -> str | None:
        ids: list[str] = []
        for before, after in pairwise(messages):
            if before["role"] == "tool" and after["role"] not in ("tool", "assistant"):
                return f"Unexpected role '{after['role']}' after role 'tool'"
            if before["role"] == after["role"] != "tool":
                return "After the optional system message, conversation roles must alternate user/assistant"
            ids += [made["id"] for made in after.get("tool_calls", ())]
        if not all(re.fullmatch("[a-zA-Z0-9]{9}", made) for made in ids) or len(set(ids)) < len(ids):
            return "Tool call id has to be defined, once, with a length of 9."
        results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        return None if results == ids else "Not the same number of function calls and responses"


@ON_SQLITE
def test_the_strictest_order_and_ids_are_kept_up_to_the_last_notice(fleet: Fleet) -> None:
    fleet.start(slots=2)
    with endpoint(Orderly()) as server:
        assert fleet.finish(ask(fleet, server, "native", max_steps=4)) == {"succeeded": 1}
        assert len(server.requests) == 4
