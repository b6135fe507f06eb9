"""Waits double up to a cap, are spread at random, and obey what a provider asked for."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.core.errors import (
    AccessDenied,
    CallEnded,
    EndpointBusy,
    EndpointFailed,
    ErrorCode,
    ModelTimeout,
    RateLimited,
    TransientError,
    UnknownError,
    Unreachable,
)
from worker.core.retry import MAX_FAILURES, Verdict, code_of, delay_s, may_be_too_long, refusal_verdict, verdict


@given(st.integers(1, 10_000), st.randoms(use_true_random=False))
def test_a_wait_is_never_longer_than_the_cap(failures: int, dice: random.Random) -> None:
    assert 0 <= delay_s(failures, dice, base_s=1, cap_s=60) <= min(60, 2.0 ** (min(failures, 20) - 1))


def test_waits_grow_and_are_spread_over_the_whole_range() -> None:
    dice = random.Random(1)
    means = []
    for failures in (1, 3, 5):
        waits = [delay_s(failures, dice, base_s=1, cap_s=60) for _ in range(2000)]
        bound_s = 2.0 ** (failures - 1)
        assert min(waits) < 0.05 * bound_s
        assert max(waits) > 0.95 * bound_s
        means.append(sum(waits) / len(waits))
    assert means == sorted(means)


@given(st.floats(0, 86_400), st.integers(1, 50), st.randoms(use_true_random=False))
def test_a_wait_that_was_asked_for_is_kept_and_slightly_spread(
    asked_s: float, failures: int, dice: random.Random
) -> None:
    wait_s = delay_s(failures, dice, retry_after_s=asked_s)
    assert asked_s <= wait_s <= asked_s * 1.1 + 0.5


def test_a_delay_before_any_failure_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="failures is 0"):
        delay_s(0, random.Random(1))


BOUNDED = [kind for kind, most in MAX_FAILURES.items() if most is not None]


@pytest.mark.parametrize("kind", [RateLimited, EndpointBusy])
@pytest.mark.parametrize("answers_others", [True, False])
def test_being_turned_away_is_retried_as_long_as_the_run_may_live(
    kind: type[TransientError], answers_others: bool
) -> None:
    assert verdict(kind("x"), 1000, 8, answers_others) is Verdict.AGAIN


@pytest.mark.parametrize("kind", BOUNDED)
def test_what_may_cost_money_each_time_is_repeated_a_few_times_only(kind: type[TransientError]) -> None:
    most = MAX_FAILURES[kind]
    assert most is not None
    assert verdict(kind("x"), most - 1, 100, answers_others=True) is Verdict.AGAIN
    assert verdict(kind("x"), most, 100, answers_others=False) is Verdict.PAUSE, "an outage fails no run"
    gives_up = kind is not Unreachable
    assert verdict(kind("x"), most, 100, answers_others=True) is (Verdict.GIVE_UP if gives_up else Verdict.AGAIN)


@pytest.mark.parametrize("kind", BOUNDED)
def test_an_endpoint_that_answers_nobody_is_left_alone_after_few_calls(kind: type[TransientError]) -> None:
    verdicts = [verdict(kind("x"), failures, 100, answers_others=False) for failures in (1, 2, 3)]
    assert verdicts[0] is Verdict.AGAIN and verdicts[2] is Verdict.PAUSE
    assert (verdicts[1] is Verdict.PAUSE) is (kind is ModelTimeout), "a call that takes its whole time is the dearest"


def test_a_refusal_that_may_be_one_requests_own_is_repeated_twice_while_others_are_answered() -> None:
    assert [refusal_verdict(failures, 100, answers_others=True) for failures in (1, 2, 3)] == [
        Verdict.AGAIN,
        Verdict.AGAIN,
        Verdict.GIVE_UP,
    ]
    assert refusal_verdict(1, 100, answers_others=False) is Verdict.PAUSE
    assert refusal_verdict(1, 1, answers_others=True) is Verdict.GIVE_UP


@pytest.mark.parametrize("kind", BOUNDED)
def test_a_run_may_allow_fewer_failures(kind: type[TransientError]) -> None:
    assert verdict(kind("x"), 1, 1, answers_others=False) is Verdict.PAUSE
    assert verdict(kind("x"), 1, 2, answers_others=False) is Verdict.AGAIN


def test_an_unknown_error_is_tried_three_times_in_all() -> None:
    assert MAX_FAILURES[UnknownError] == 3


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownError("x", status=400), ErrorCode.MODEL_REJECTED),
        (UnknownError("x", status=500), ErrorCode.INTERNAL),
        (UnknownError("x"), ErrorCode.INTERNAL),
        (AccessDenied("x", status=403), ErrorCode.MODEL_REJECTED),
        (EndpointFailed("x", status=409), ErrorCode.INTERNAL),
    ],
)
def test_a_request_that_only_its_endpoint_knows_the_fault_of_ends_as_rejected(
    error: CallEnded, code: ErrorCode
) -> None:
    assert code_of(error) is code


def test_every_transient_error_has_its_own_rule() -> None:
    assert set(MAX_FAILURES) == set(TransientError.__subclasses__())


def test_a_refusal_in_unknown_words_may_mean_a_conversation_that_is_too_long_once() -> None:
    refused = UnknownError("?", status=400)
    assert may_be_too_long(refused, step=2, folds=0)
    assert not may_be_too_long(refused, step=1, folds=0), "there is nothing to fold yet"
    assert not may_be_too_long(refused, step=2, folds=1), "it did not help"
    assert not may_be_too_long(UnknownError("?", status=409), step=2, folds=0)
    assert not may_be_too_long(EndpointFailed("?", status=500), step=2, folds=0)
