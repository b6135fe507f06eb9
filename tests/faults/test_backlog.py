"""Tool groups that stop for a while: their queue is not flooded, and the others go on."""

from __future__ import annotations

import pytest
import redis
from sqlalchemy import func, select

from tests.engine.fleet import THINK, Fleet
from tests.engine.questions import sums
from tests.engine.wholeness import assert_whole
from worker.store.schema.tables import active

pytestmark = pytest.mark.timeout(300)


def test_the_backlog_of_a_stopped_tool_group_is_not_flooded_and_others_go_on(fleet: Fleet) -> None:
    fleet.env["STEPMILL_HOT_SET"] = "64"
    fleet.start((*THINK, "tools.local"), slots=6)
    stuck = fleet.submit([f"Use look_up(name='thing-{n}')." for n in range(60)])
    parked = select(func.count()).select_from(active).where(active.c.parked.is_not(None))
    fleet.wait("runs that cannot move give up their slots", lambda: fleet.rows(parked)[0][0] == 60)
    others = fleet.submit(sums(80))
    assert fleet.finish(others) == {"succeeded": 80}
    with redis.Redis.from_url(fleet.redis_url) as client:
        assert client.llen("tools.test") <= 60, "one work message for each call"
    assert fleet.ended(stuck) == 0
    fleet.start(["tools.test"])
    assert fleet.finish(stuck) == {"succeeded": 60}
    assert_whole(fleet, stuck, others)


def test_the_backlog_of_a_slow_tool_group_is_not_flooded(fleet: Fleet) -> None:
    fleet.start(THINK, slots=6)
    fleet.start(["tools.slow"], slots=1)
    batch = fleet.submit(["Use nap(seconds=0.1)."] * 60)
    longest = 0

    def watch() -> bool:
        nonlocal longest
        with redis.Redis.from_url(fleet.redis_url) as client:
            longest = max(longest, client.llen("tools.slow"))
        return fleet.ended(batch) == 60

    fleet.wait("the tool has worked them off, one by one", watch, 60)
    assert longest <= 75, "a backlog is not a loss: nothing is sent again"
