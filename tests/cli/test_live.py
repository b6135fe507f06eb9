"""A batch as its owner watches it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import httpx2
import pytest
from rich.console import Console

from worker.cli.batches.outcome import exit_code
from worker.cli.client import Client
from worker.cli.live import reasons, summary, view, watch
from worker.core.errors import UserError
from worker.core.records import JsonObject

BATCH: JsonObject = {
    "batch_id": "batch_1",
    "state": "open",
    "paused_reason": None,
    "total": 1000,
    "counts": {"queued": 600, "active": 100, "succeeded": 290, "failed": 10, "cancelled": 0},
    "usage": {"prompt_tokens": 90_000, "cached_tokens": 0, "completion_tokens": 10_000},
    "cost_usd": 1.5,
    "wasted": {"tokens": 700, "cost_usd": 0.01},
    "runs_per_s": 4.0,
    "seconds_left": 175,
    "simulated": False,
    "errors": {"max_steps": 10},
    "waiting": [{"reason": "gpt-x is paused for 12 s.", "runs": 40}],
}


def with_counts(**counts: int) -> JsonObject:
    return {**BATCH, "counts": {**dict.fromkeys(BATCH["counts"], 0), **counts}}


def test_the_summary_has_counts_rate_cost_waste_and_time_left() -> None:
    line = summary(BATCH)
    for part in ("300/1,000 ended", "600 queued", "10 failed", "100,000 tokens", "$1.5000", "700 tokens wasted"):
        assert part in line
    assert "4.0 runs/s" in line
    assert "about 2 min 55 s left" in line


def test_an_unknown_price_is_a_dash_and_practice_has_none() -> None:
    assert "| – |" in summary({**BATCH, "cost_usd": None})
    assert "$" not in summary({**BATCH, "simulated": True})


def test_reasons_tell_what_waits_and_what_failed() -> None:
    assert reasons(BATCH) == ["40 wait: gpt-x is paused for 12 s.", "10 failed: max_steps"]


def test_a_paused_batch_says_why() -> None:
    assert "paused (failures)" in summary({**BATCH, "paused_reason": "failures"})


def test_the_live_view_shows_the_same() -> None:
    console = Console(width=120, record=True, file=None)
    with console.capture() as captured:
        console.print(view(BATCH))
    for part in ("300/1,000", "290 succeeded", "gpt-x is paused", "about 2 min 55 s left"):
        assert part in captured.get()


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("worker.cli.live.time", clock)
    return clock


def told(kind: str, batch: JsonObject) -> str:
    return f"event: {kind}\ndata: {json.dumps(batch)}\n\n"


class Stream(httpx2.SyncByteStream):
    """A batch's events, a second apart; an error breaks the connection."""

    def __init__(self, clock: Clock, events: Sequence[str | Exception]) -> None:
        self._clock = clock
        self._events = events

    def __iter__(self) -> Iterator[bytes]:
        for event in self._events:
            self._clock.now_s += 1.0
            if isinstance(event, Exception):
                raise event
            yield event.encode()


def served(clock: Clock, *streams: Sequence[str | Exception]) -> Client:
    """An API whose streams of events are these, one after the other; there is nothing else to ask for."""
    rest = iter(streams)

    def handler(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/api/batches/batch_1/events" and request.url.params["runs"] == "false"
        events = next(rest)
        if events and isinstance(events[0], Exception):
            clock.now_s += 1.0
            raise events[0]
        return httpx2.Response(200, stream=Stream(clock, events))

    return Client("http://127.0.0.1:1", transport=httpx2.MockTransport(handler), pause=clock.sleep)


DONE: JsonObject = {**with_counts(succeeded=1000), "state": "done"}
REFUSED = [httpx2.ConnectError("refused")]


def test_piped_a_line_is_printed_for_news_at_once_and_for_counts_now_and_then(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    counting = [told("progress", with_counts(queued=1000 - n, succeeded=n)) for n in range(0, 150, 10)]
    with served(clock, [*counting, told("end", DONE)]) as client:
        assert watch(client, "batch_1") == DONE
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4, lines
    assert "1,000/1,000 ended" in lines[-1]


def test_what_was_too_soon_to_be_told_is_told_later_though_nothing_more_happens(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    two = [told("progress", with_counts(queued=1000 - n, succeeded=n)) for n in (0, 10)]
    with served(clock, [*two, *[": idle\n\n"] * 6, told("end", DONE)]) as client:
        watch(client, "batch_1")
    assert ["10/1,000" in line for line in capsys.readouterr().out.splitlines()] == [False, True, False]


def test_watching_goes_on_over_an_api_that_restarts(clock: Clock) -> None:
    broken: list[str | Exception] = [told("progress", BATCH), httpx2.ReadError("reset")]
    error = [told("error", {"message": "the database is away"})]
    with served(clock, broken, *[REFUSED] * 9, error, [told("progress", BATCH)], [told("end", DONE)]) as client:
        assert watch(client, "batch_1") == DONE


def test_watching_ends_where_the_api_stays_away(clock: Clock) -> None:
    with served(clock, [told("progress", BATCH)], *[REFUSED] * 100) as client, pytest.raises(UserError) as caught:
        watch(client, "batch_1")
    assert caught.value.exit_code == 3
    assert 60.0 < clock.now_s < 120.0


def test_watching_stops_when_the_batch_is_paused(clock: Clock) -> None:
    paused = {**BATCH, "paused_reason": "by hand"}
    with served(clock, [told("progress", BATCH), told("progress", paused), told("progress", BATCH)]) as client:
        assert watch(client, "batch_1") == paused


def test_watching_stops_when_the_watcher_has_seen_enough_though_nothing_happens(clock: Clock) -> None:
    with served(clock, [told("progress", BATCH), *[": idle\n\n"] * 100]) as client:
        assert watch(client, "batch_1", enough=lambda _: clock.now_s >= 10.0)["state"] == "open"
    assert 10.0 <= clock.now_s < 12.0


def test_success_is_0_and_anything_else_1_unless_failures_are_allowed() -> None:
    done = {**with_counts(succeeded=1000), "state": "done"}
    some_failed = {**with_counts(succeeded=999, failed=1), "state": "done"}
    cancelled = {**with_counts(succeeded=999, cancelled=1), "state": "cancelled"}
    assert exit_code(done, allow_failures=False) == 0
    assert exit_code(some_failed, allow_failures=False) == 1
    assert exit_code(some_failed, allow_failures=True) == 0
    assert exit_code(cancelled, allow_failures=True) == 1
