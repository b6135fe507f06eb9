"""Threads that take turns: few run at once, and none waits for ever."""

from __future__ import annotations

import threading

import pytest

from tests.store.racing import InThread
from worker.tasks.turnstile import Turnstile


def may_be_inside_together(turnstile: Turnstile, count: int, within_s: float) -> bool:
    """Whether so many threads get a turn at the same time, within this time."""
    meeting = threading.Barrier(count)

    def meet() -> bool:
        with turnstile:
            try:
                meeting.wait(within_s)
            except threading.BrokenBarrierError:
                return False
            return True

    met = [thread.result() for thread in [InThread(meet) for _ in range(count)]]
    return all(met)


def test_no_more_than_so_many_pass_at_once_and_one_that_steps_aside_lets_another_in() -> None:
    turnstile, inside, most = Turnstile(at_once=2, patience_s=30.0), 0, 0
    counting, everybody_aside = threading.Lock(), threading.Barrier(20)

    def work() -> None:
        nonlocal inside, most
        with turnstile:
            with turnstile.aside():
                everybody_aside.wait(30.0)
            with counting:
                inside += 1
                most = max(most, inside)
            with counting:
                inside -= 1

    for thread in [InThread(work) for _ in range(20)]:
        thread.result()
    assert 1 <= most <= 2
    assert may_be_inside_together(turnstile, 2, 10.0), "all turns were given back"


def test_whoever_waits_too_long_goes_on_out_of_turn_and_gives_no_turn_back() -> None:
    turnstile, hanging, leave = Turnstile(at_once=1, patience_s=1.0), threading.Event(), threading.Event()

    def hang() -> None:
        with turnstile:
            hanging.set()
            assert leave.wait(30.0)

    thread = InThread(hang)
    assert hanging.wait(30.0)
    with turnstile:
        assert not leave.is_set(), "it passes while the turn is taken"
    leave.set()
    thread.result()
    assert may_be_inside_together(turnstile, 1, 10.0)
    assert not may_be_inside_together(turnstile, 2, 0.2), "there is one turn, as before"


def test_an_error_gives_the_turn_back() -> None:
    turnstile = Turnstile(at_once=1, patience_s=30.0)
    with pytest.raises(ValueError, match="no"), turnstile, turnstile.aside():
        raise ValueError("no")
    assert may_be_inside_together(turnstile, 1, 10.0)
