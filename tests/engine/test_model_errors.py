"""A model that refuses a field, or fails for one request or for all: no run fails for another's fault."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, update

from tests.engine.fleet import Fleet
from tests.engine.questions import sums
from tests.engine.wholeness import assert_money, assert_whole
from worker.core.remedies import PauseKind
from worker.store.control.learned import all_learned
from worker.store.queries.endpoints import endpoint_states
from worker.store.schema.tables import active, attempts, endpoints
from worker.store.session import NOW

pytestmark = pytest.mark.timeout(300)
BAD = "Use look_up(name='mark-bad')."
FAILS_FOR_ONE: list[dict[str, Any]] = [{"kind": "server_error", "match": "mark-bad"}]
PAUSED = select(endpoints).where(endpoints.c.paused_reason.is_not(None))


def probe_now(fleet: Fleet) -> None:
    """The next probe is due in seconds or minutes; the test does not wait for it."""
    with fleet.store.write() as tx:
        tx.execute(update(endpoints).where(endpoints.c.probe_run.is_(None)).values(probe_at=NOW))


def test_what_a_model_refuses_is_learned_once_for_all_workers(fleet: Fleet) -> None:
    fleet.practice.control(refused_fields=["temperature", "stop", "max_tokens"], latency="0.02")
    for _ in range(2):
        fleet.start(slots=4)
    first = fleet.submit(sums(10))
    assert fleet.finish(first) == {"succeeded": 10}
    (known,) = all_learned(fleet.store).values()
    features = {one.adaptation.feature for one in known}
    assert features == {"without:temperature", "without:stop", "renamed:max_tokens"}
    fleet.start(slots=4)
    refused = refusals(fleet)
    assert fleet.finish(fleet.submit(sums(20))) == {"succeeded": 20}
    assert refusals(fleet) == refused, "a worker that starts later knows it, and so does everybody"
    assert_money(fleet)


def refusals(fleet: Fleet) -> int:
    return sum(entry["status"] == 400 for entry in fleet.practice.ledger())


def test_a_request_that_always_fails_ends_its_run_while_the_others_are_answered(fleet: Fleet) -> None:
    fleet.practice.control(faults=FAILS_FOR_ONE, latency="0.1")
    fleet.start(slots=4)
    batch = fleet.submit([BAD, *sums(60)], max_model_failures=3)
    assert fleet.finish(batch, 90) == {"succeeded": 60, "failed": 1}
    (failed,) = [run for run in fleet.runs(batch) if run.state == "failed"]
    assert failed.error_code == "internal"
    assert "The server had an error while processing the request" in failed.error_message, "the endpoint's own words"
    assert fleet.rows(PAUSED) == []
    assert_whole(fleet, batch)


def test_a_model_that_answers_nobody_is_paused_and_no_run_fails(fleet: Fleet) -> None:
    fleet.practice.control(faults=["server_error"])
    fleet.start(slots=4)
    batch = fleet.submit(sums(12), max_model_failures=3)
    fleet.wait("the endpoint is paused", lambda: fleet.rows(PAUSED), 60)
    (endpoint,) = fleet.rows(PAUSED)
    assert endpoint.paused_kind in (PauseKind.FAILING, PauseKind.UNKNOWN) and endpoint.paused_until is None
    assert "The server had an error" in endpoint.paused_reason
    fleet.practice.control(faults=[])
    probe_now(fleet)
    assert fleet.finish(batch) == {"succeeded": 12}
    assert_whole(fleet, batch)


def test_a_request_that_fails_alone_waits_and_ends_once_another_is_answered(fleet: Fleet) -> None:
    fleet.practice.control(faults=FAILS_FOR_ONE)
    fleet.start(slots=4)
    alone = fleet.submit([BAD], max_model_failures=2)
    fleet.wait("the endpoint is paused", lambda: fleet.rows(PAUSED), 60)
    assert fleet.ended(alone) == 0
    good = fleet.submit(sums(1))
    fleet.wait("the other run waits too", lambda: len(fleet.rows(select(attempts.c.run_id).distinct())) == 2)
    probe_now(fleet)
    assert fleet.finish(good, 60) == {"succeeded": 1}
    assert fleet.finish(alone, 60) == {"failed": 1}
    assert fleet.rows(PAUSED) == []


@pytest.mark.parametrize("fault", ["server_error", "timeout", "drop"])
def test_a_request_that_fails_alone_ends_once_a_small_one_is_answered(fleet: Fleet, fault: str) -> None:
    fleet.practice.control(faults=[{"kind": fault, "match": "mark-bad"}])
    fleet.start(slots=4)
    alone = fleet.submit([BAD], call_time_limit_s=2.0)
    fleet.wait("the endpoint is paused", lambda: fleet.rows(PAUSED), 60)
    probe_now(fleet)
    assert fleet.finish(alone, 60) == {"failed": 1}
    (run,) = fleet.runs(alone)
    assert run.error_code == "internal" and "The model call failed" in run.error_message
    answered = [entry for entry in fleet.practice.ledger() if entry["status"] == 200]
    assert len(answered) == 1 and len(fleet.practice.ledger()) <= 5
    assert fleet.rows(PAUSED) == []
    assert_whole(fleet, alone)
    assert_money(fleet)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("fault", ["server_error", "timeout", "drop", "garbage"])
def test_an_endpoint_that_answers_nobody_is_asked_few_times_and_stays_paused(fleet: Fleet, fault: str) -> None:
    fleet.practice.control(faults=[fault])
    fleet.start(slots=4)
    batch = fleet.submit([BAD], call_time_limit_s=2.0)
    fleet.wait("the endpoint is paused", lambda: fleet.rows(PAUSED), 60)
    asked = len(fleet.practice.ledger())
    assert asked <= 3
    again = PAUSED.where(endpoints.c.probe_run.is_(None), endpoints.c.probes == 1)
    probe_now(fleet)
    fleet.wait("a probe was in vain", lambda: len(fleet.practice.ledger()) == asked + 1, 30)
    fleet.wait("the endpoint is paused again", lambda: fleet.rows(again), 30)
    assert fleet.ended(batch) == 0


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("quirk", "kinds", "ends"),
    [
        ("money.1", {PauseKind.QUOTA}, False),
        ("free-for-the-day.1", {PauseKind.QUOTA}, True),
        ("key.1", {PauseKind.KEY}, False),
        ("model-unknown.1", {PauseKind.MODEL}, False),
        ("turned-away.1", {PauseKind.FAILING}, False),
        ("turned-away.2", {PauseKind.FAILING}, False),
        ("operators-error.1", {PauseKind.ACCESS}, False),
        ("operators-error.3", {PauseKind.MODEL}, False),
        ("operators-error.4", {PauseKind.KEY}, False),
        ("broken-always.1", {PauseKind.UNKNOWN, PauseKind.FAILING}, False),
        ("broken-always.3", {PauseKind.UNKNOWN, PauseKind.FAILING}, False),
        ("broken-always.5", {PauseKind.UNKNOWN, PauseKind.FAILING}, False),
    ],
)
def test_an_endpoint_that_somebody_must_mend_is_paused_with_its_own_words_and_what_to_do(
    fleet: Fleet, quirk: str, kinds: set[str], ends: bool
) -> None:
    fleet.start(slots=4, PRACTICE_URL=f"{fleet.practice.url}/quirk/{quirk}/v1")
    batch = fleet.submit(sums(3), max_model_failures=2)
    fleet.wait("the endpoint is paused", lambda: fleet.rows(PAUSED), 60)
    (endpoint,) = fleet.rows(PAUSED)
    assert endpoint.paused_kind in kinds
    assert (endpoint.paused_until is not None) is ends, "a limit of the day opens by itself"
    assert "the model endpoint answered" in endpoint.paused_reason
    parked = select(active).where(active.c.parked.is_not(None))
    fleet.wait("its runs wait and say why", lambda: len(fleet.rows(parked)) == 3)
    remedy = endpoint_states(fleet.store)[endpoint.id].remedy
    assert remedy and all(remedy in run.wait_reason for run in fleet.rows(parked))
    assert fleet.ended(batch) == 0
