"""What a work message costs Redis on its way through real workers."""

from __future__ import annotations

from collections import Counter

import redis
from kombu.connection import Connection

from tests.engine.fleet import Fleet
from tests.engine.questions import sums

BOOKKEEPING = ("zadd", "hset", "zrem", "hdel")


def test_a_message_is_pushed_and_popped_and_events_of_many_tasks_travel_together(fleet: Fleet) -> None:
    fleet.start(slots=4)
    fleet.finish(fleet.submit(sums(4)))
    with redis.Redis.from_url(fleet.redis_url, decode_responses=True) as client:
        before = _commands(client)
        fleet.finish(fleet.submit(sums(40)))
        used = _commands(client) - before
    tasks = 40 * 3
    assert tasks <= used["lpush"] <= tasks * 1.2, used  # on a busy machine a sweeper may send again
    # The broker notes now and then that its queues are in use; but it keeps no books of who fetched which work message.
    assert sum(used[name] for name in BOOKKEEPING) < tasks / 10, used
    # Three events a task, and a few of the worker's own.
    assert used["publish"] < tasks, used


def test_kombus_client_is_made_once_a_channel(redis_url: str) -> None:
    with Connection(redis_url, transport="worker.broker:Transport") as connection:  # type: ignore[no-untyped-call]
        channel = connection.channel()
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first is second and first.ping()
        channel._disconnect_pools()
        with channel.conn_or_acquire() as anew:
            assert anew is not first and anew.ping(), "a lost connection is not kept"


def _commands(client: redis.Redis) -> Counter[str]:
    stats = client.info("commandstats")
    return Counter({name.removeprefix("cmdstat_"): int(row["calls"]) for name, row in stats.items()})
