"""What calls of one tool share across the fleet: a concurrency limit, and cached results."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from tests.services.waiting import wait_until
from tools.base import Tool, tool
from worker.limits.limiter import Granted, Limiter, RetryAt, limiter_client
from worker.limits.tool_limits import ToolLimits


@tool(concurrency=2, cache_s=30.0, idempotent=True)
def looked_up(word: str) -> str:
    """Look a word up."""
    return word


@tool
def unbounded(word: str) -> str:
    """Look a word up, as often as anybody likes."""
    return word


@pytest.fixture
def limits(redis_url: str) -> Iterator[ToolLimits]:
    limits = limiter_client(redis_url)
    with Redis.from_url(redis_url) as client:
        yield ToolLimits(Limiter(limits), client)
    limits.close()


def granted(limits: ToolLimits, made: Tool, place: str) -> Granted:
    """A fresh Redis lets nobody in for a moment, since it cannot know what is in flight."""
    got: list[Granted] = []

    def asked() -> bool:
        slot = limits.slot(made, place)
        got.extend([slot] if isinstance(slot, Granted) else [])
        return bool(got)

    wait_until(f"{place} gets a slot", asked)
    return got[0]


def test_no_more_calls_go_at_once_than_the_tool_allows(limits: ToolLimits, redis_url: str) -> None:
    first = granted(limits, looked_up, "run.1.1")
    granted(limits, looked_up, "run.1.2")
    third = limits.slot(looked_up, "run.1.3")
    assert isinstance(third, RetryAt), "the third is told when, and holds no worker meanwhile"
    limits.free(looked_up, first)
    granted(limits, looked_up, "run.1.3")


def test_a_tool_without_a_bound_asks_nobody(limits: ToolLimits) -> None:
    assert limits.slot(unbounded, "run.1.1") is None
    limits.keep(unbounded, {"word": "a"}, "b")
    assert limits.known(unbounded, {"word": "a"}) is None


def test_an_equal_call_is_answered_from_an_earlier_one(limits: ToolLimits) -> None:
    assert limits.known(looked_up, {"word": "a"}) is None
    limits.keep(looked_up, {"word": "a"}, "ä 中")
    assert limits.known(looked_up, {"word": "a"}) == "ä 中"
    assert limits.known(looked_up, {"word": "b"}) is None


def test_an_absent_redis_makes_calls_wait_and_answers_unknown(limits: ToolLimits) -> None:
    nowhere = limiter_client("redis://127.0.0.1:1/0")
    lost = ToolLimits(Limiter(nowhere), nowhere)
    assert isinstance(lost.slot(looked_up, "run.1.1"), RetryAt)
    assert lost.known(looked_up, {"word": "a"}) is None
    lost.keep(looked_up, {"word": "a"}, "kept nowhere")
    assert limits.known(looked_up, {"word": "a"}) is None
