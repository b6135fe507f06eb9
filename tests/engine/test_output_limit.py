"""Replies cut by the output limit, over HTTP: what is retried, what it costs, and what is reported."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from tests.engine.fleet import Fleet
from tests.engine.scripted import Body, ask, endpoint, replied
from worker.store.schema.tables import attempts, steps

pytestmark = pytest.mark.timeout(180)
ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

DIALECTS = ["native", "react_json"]
ANSWERS = {"native": "It is 2.", "react_json": "Answer: It is 2."}


def thinks_long(body: Body) -> tuple[int, Body]:
    """Needs 150 tokens to think before it says anything."""
    if body["max_tokens"] > 150:
        return replied({"content": ANSWERS["native" if "tools" in body else "react_json"]})
    return replied({"content": None, "reasoning_content": "Well, "}, "length")


def thinks_on(body: Body) -> tuple[int, Body]:
    return replied({"content": "<think>Well, let me see. Action: calculator"}, "length")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_limit_that_thinking_used_up_is_raised_once_and_the_first_reply_counts_as_waste(
    fleet: Fleet, dialect: str
) -> None:
    fleet.start(slots=2)
    with endpoint(thinks_long) as server:
        batch = ask(fleet, server, dialect, max_output_tokens=100)
        assert fleet.finish(batch) == {"succeeded": 1}
    (run,) = fleet.runs(batch)
    assert [request.body["max_tokens"] for request in server.requests] == [100, 200]
    assert server.requests[0].body["messages"] == server.requests[1].body["messages"], "the model is not told to hurry"
    assert (run.answer, run.steps, run.attempts) == ("It is 2.", 1, 2)
    assert (run.prompt_tokens, run.completion_tokens, run.wasted_tokens, run.wasted_attempts) == (200, 20, 110, 1)


@ON_SQLITE
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_only_thinks_ends_its_run_with_the_limit_that_it_used_up(fleet: Fleet, dialect: str) -> None:
    fleet.start(slots=2)
    with endpoint(thinks_on) as server:
        raised = ask(fleet, server, dialect, max_output_tokens=100, max_output_tokens_ceiling=150)
        assert fleet.finish(raised) == {"failed": 1}
        assert [request.body["max_tokens"] for request in server.requests] == [100, 150]
        fixed = ask(fleet, server, dialect, max_output_tokens=100, max_output_tokens_ceiling=100)
        assert fleet.finish(fixed) == {"failed": 1}
        assert len(server.requests) == 3
    ((run,), (other,)) = fleet.runs(raised), fleet.runs(fixed)
    assert (run.error_code, other.error_code) == ("output_limit", "output_limit")
    assert "all 150 output tokens of a reply (max_output_tokens, raised from 100)" in run.error_message
    assert "all 100 output tokens of a reply (max_output_tokens)" in other.error_message
    (step,) = fleet.rows(select(steps).where(steps.c.run_id == run.id))
    assert (step.kind, step.finish_reason) == ("malformed", "length")
    (failed, _) = fleet.rows(select(attempts).where(attempts.c.run_id == run.id).order_by(attempts.c.attempt))
    assert "all 100 output tokens" in failed.error and failed.wasted


@ON_SQLITE
@pytest.mark.parametrize("dialect", DIALECTS)
def test_answers_that_are_cut_off_again_and_again_name_the_limit_too(fleet: Fleet, dialect: str) -> None:
    fleet.start(slots=2)
    with endpoint(lambda body: replied({"content": "Answer: It is a long story, and"}, "length")) as server:
        batch = ask(fleet, server, dialect, max_output_tokens=100)
        assert fleet.finish(batch) == {"failed": 1}
    assert [request.body["max_tokens"] for request in server.requests] == [100, 100, 100]
    assert "Write less" in server.requests[1].body["messages"][-1]["content"]
    (run,) = fleet.runs(batch)
    assert run.error_code == "output_limit"
    assert "3 replies in a row were cut off at 100 output tokens (max_output_tokens)" in run.error_message


@ON_SQLITE
def test_a_raised_limit_is_what_money_is_reserved_for(fleet: Fleet) -> None:
    file = fleet.directory / "prices.toml"
    file.write_text('["m"]\nprompt = 0.0\ncompletion = 100.0\n')
    fleet.start(slots=2, PRICES_FILE=str(file))

    def unsaid(body: Body) -> tuple[int, Body]:
        status, said = thinks_long(body)
        return status, said if body["max_tokens"] == 100 else {**said, "usage": None}

    with endpoint(unsaid) as server:
        batch = ask(fleet, server, "native", max_output_tokens=100)
        assert fleet.finish(batch) == {"succeeded": 1}
    (run,) = fleet.runs(batch)
    assert run.cost_usd == pytest.approx(10 * 1e-4)
    assert run.reserved_usd == pytest.approx(200 * 1e-4)


@ON_SQLITE
@pytest.mark.parametrize(
    "broken",
    [
        {"choices": []},
        {"choices": [{"message": None, "finish_reason": "stop"}]},
    ],
)
def test_a_reply_that_cannot_be_used_counts_the_tokens_that_it_reports(fleet: Fleet, broken: Body) -> None:
    fleet.start(slots=2)
    served: list[Body] = []

    def once(body: Body) -> tuple[int, Body]:
        served.append(body)
        good = replied({"content": "It is 2."})
        return good if len(served) > 1 else (200, {**broken, "usage": {"prompt_tokens": 70, "completion_tokens": 5}})

    with endpoint(once) as server:
        batch = ask(fleet, server, "native")
        assert fleet.finish(batch) == {"succeeded": 1}
    (run,) = fleet.runs(batch)
    assert (run.answer, run.prompt_tokens, run.completion_tokens, run.wasted_tokens) == ("It is 2.", 170, 15, 75)
