"""What must be true of a batch once it has ended, whatever happened before."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import redis
from sqlalchemy import select

from tests.engine.fleet import Fleet
from worker.store.recovery.invariants import check
from worker.store.schema.tables import active, attempts, batches, endings, runs, steps, tool_calls

BROKERS_OWN = ("_kombu.", "unacked", "stepmill:limits:started")
"""Keys that the broker keeps, and the limiter's mark by which it knows an emptied Redis."""


def assert_whole(fleet: Fleet, *batch_ids: str) -> None:
    """Every run has ended, its steps and calls are whole and counted once, and nothing is left over."""
    assert check(fleet.store) == []
    for batch_id in batch_ids:
        found = fleet.runs(batch_id)
        ids = [run.id for run in found]
        _assert_steps(fleet, found)
        open_ones = select(attempts).where(attempts.c.run_id.in_(ids), attempts.c.ended_at.is_(None))
        assert fleet.rows(open_ones) == [], "an attempt outlived its run"
        assert fleet.rows(select(active.c.run_id).where(active.c.run_id.in_(ids))) == [], "an ended run is still hot"
        assert fleet.rows(select(endings.c.run_id).where(endings.c.run_id.in_(ids))) == [], "an ending is not settled"
        _assert_sums(fleet, batch_id, found)


def _assert_steps(fleet: Fleet, found: list[Any]) -> None:
    ids = [run.id for run in found]
    by_run: dict[str, list[Any]] = defaultdict(list)
    for step in fleet.rows(select(steps).where(steps.c.run_id.in_(ids)).order_by(steps.c.run_id, steps.c.step)):
        by_run[step.run_id].append(step)
    unfinished = defaultdict(list)
    for call in fleet.rows(select(tool_calls).where(tool_calls.c.run_id.in_(ids))):
        if call.state != "done" or call.observation is None:
            unfinished[call.run_id].append(call)
    for run in found:
        numbers = [step.step for step in by_run[run.id]]
        assert numbers == list(range(1, len(numbers) + 1)), f"{run.id} has the steps {numbers}"
        if run.state == "succeeded":
            assert run.steps == len(numbers), f"{run.id} counts {run.steps} steps and has {len(numbers)}"
            assert unfinished[run.id] == [], f"{run.id} succeeded without an observation"
            assert by_run[run.id][-1].kind == "answer" and run.answer is not None


def _assert_sums(fleet: Fleet, batch_id: str, found: list[Any]) -> None:
    (batch,) = fleet.rows(select(batches).where(batches.c.id == batch_id))
    for state in ("succeeded", "failed", "cancelled"):
        assert getattr(batch, state) == sum(run.state == state for run in found), f"{state} runs are miscounted"
    assert batch.steps == sum(run.steps for run in found)
    assert batch.prompt_tokens == sum(run.prompt_tokens for run in found)


def assert_money(fleet: Fleet) -> None:
    """What is known of usage is no more than the practice model served, and that no more than what is unknown adds."""
    served = {e["request_id"]: e for e in fleet.practice.ledger() if e["prompt_tokens"]}
    known = {row.token: row.prompt_tokens for row in fleet.rows(select(attempts).where(attempts.c.call == 0))}
    assert set(served) <= set(known), "the model served a request that no attempt stands for"
    for token, tokens in known.items():
        assert tokens in (0, served[token]["prompt_tokens"] if token in served else 0), f"{token}: {tokens} tokens"
    for run in fleet.rows(select(runs)):
        assert run.prompt_tokens >= 0


def redis_leftovers(fleet: Fleet) -> dict[str, int]:
    """Work messages that nobody answered, and whatever else would stay for ever, with their lengths."""
    with redis.Redis.from_url(fleet.redis_url, decode_responses=True) as client:
        keys = [key for key in client.scan_iter() if not key.startswith(BROKERS_OWN) and client.ttl(key) == -1]
        return {key: client.llen(key) if client.type(key) == "list" else 1 for key in keys}


def assert_nothing_left_in_redis(fleet: Fleet) -> None:
    """Late work messages are answered and discarded in the end; wait for that."""
    fleet.wait("Redis holds no leftovers", lambda: _none(fleet), 15)


def _none(fleet: Fleet) -> bool:
    fleet.last_seen = redis_leftovers(fleet)
    return not fleet.last_seen
