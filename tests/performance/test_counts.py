"""What a step costs. The numbers are exact: if you make one smaller, write the smaller one here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import redis

from tests.bench.counts import hot_shares
from tests.bench.rows_visited import explained
from tests.bench.walk import PIECES, Walk, costs
from worker.core.work_messages import WorkMessage

ASKS, CALLS, ANSWERS = PIECES
POSTGRES = {ASKS: (0, 3), CALLS: (0, 2), ANSWERS: (0, 3)}
"""Transactions, and statements: each of them is one of its own, which is also one round trip."""
SQLITE = {ASKS: (3, 7), CALLS: (2, 8), ANSWERS: (3, 8)}
BESIDE = ("publish", "client", "hello")
"""Notices of changes go out together, whenever; a client introduces itself on each new connection."""
REDIS = {ASKS: {"lpush": 1}, CALLS: {"lpush": 1}, ANSWERS: {}}
"""Commands: one work message each."""
ROWS_VISITED = {ASKS: 24, CALLS: 16, ANSWERS: 31}
"""Also those that one part of a statement passes to the next."""


def test_a_step_takes_so_many_transactions_statements_and_commands_to_redis(walk: Walk, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        found = costs(walk, client)
    assert {name: len(each) for name, each in found.items()} == {ASKS: 3, CALLS: 3, ANSWERS: 1}
    expected = POSTGRES if walk.rt.store.postgres else SQLITE
    for name, each in found.items():
        for cost in each:
            assert (cost.transactions, cost.statements) == expected[name], name
            # Hints of what changed go in groups, from a thread of their own and only while somebody listens.
            assert {sent: n for sent, n in cost.redis.items() if sent not in BESIDE} == REDIS[name], name


def test_a_step_looks_at_its_own_runs_rows_only_with_forty_others_in_motion(postgres_walk: Walk) -> None:
    walk = postgres_walk
    walk.run()
    others = [walk.admitted() for _ in range(40)]
    most: Counter[str] = Counter()

    def watched(name: str, work: Callable[[], WorkMessage | None]) -> WorkMessage | None:
        with explained(walk.rt.store) as visited:
            following = work()
        most[name] = max(most[name], visited.rows)
        return following

    assert walk.run(watched) == 7 and len(others) == 40
    assert all(most[name] <= allowed for name, allowed in ROWS_VISITED.items()), most


def test_updates_of_hot_rows_touch_no_index(postgres_walk: Walk) -> None:
    for _ in range(20):
        postgres_walk.run()
    shares = hot_shares(postgres_walk.rt.store)
    assert set(shares) == {"active", "tool_calls", "attempts"}
    assert min(shares.values()) > 0.95, shares
