"""Threads that take turns: few at once, none for ever in line."""

from __future__ import annotations

import threading

import pytest

from tests.services.waiting import wait_until
from tests.store.racing import InThread
from worker.turnstile import Turnstile


def test_no_more_than_so_many_pass_at_once_and_one_that_steps_aside_lets_another_in() -> None:
    turnstile, inside, most = Turnstile(at_once=2, patience_s=30.0), 0, 0
    counting, go = threading.Lock(), threading.Event()

    def work() -> None:
        nonlocal inside, most
        with turnstile:
            with turnstile.aside():
                assert go.wait(30.0)
            with counting:
                inside += 1
                most = max(most, inside)
            with counting:
                inside -= 1

    threads = [InThread(work) for _ in range(20)]
    wait_until("all twenty have stepped aside", lambda: turnstile._turns._value == 2)
    go.set()
    for thread in threads:
        thread.result()
    assert 1 <= most <= 2
    assert turnstile._turns._value == 2, "all turns were given back"


def test_whoever_waits_too_long_goes_on_out_of_turn() -> None:
    turnstile, leave = Turnstile(at_once=1, patience_s=0.01), threading.Event()

    def hang() -> None:
        with turnstile:
            assert leave.wait(30.0)

    hanging = InThread(hang)
    wait_until("the turn is taken", lambda: turnstile._turns._value == 0)
    with turnstile:
        pass
    assert turnstile._turns._value == 0, "a turn that was never had is not given back"
    leave.set()
    hanging.result()
    assert turnstile._turns._value == 1


def test_an_error_gives_the_turn_back() -> None:
    turnstile = Turnstile(at_once=1)
    with pytest.raises(ValueError, match="no"), turnstile, turnstile.aside():
        raise ValueError("no")
    assert turnstile._turns._value == 1
