"""The machine knows every state and every transition, and nothing else is possible."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.core.config import RunConfig
from worker.core.errors import ErrorCode
from worker.core.machine import (
    DEATHS_UNTIL_QUARANTINE,
    decide_call,
    decide_think,
    last_step,
    output_tokens,
    unknown_outcome,
)
from worker.core.moves import (
    Acted,
    Answered,
    CallAgain,
    CallChange,
    CallDone,
    CallEvent,
    CallFinished,
    CallRetried,
    CallView,
    End,
    GivenBack,
    Hot,
    ModelFailed,
    Move,
    NewCall,
    OverBudget,
    Parking,
    Place,
    Rejected,
    State,
    ThinkEvent,
    Unreadable,
    UsedUp,
)
from worker.core.states import (
    ENDED,
    PHASE_TRANSITIONS,
    RUN_TRANSITIONS,
    Outcome,
    Parked,
    Phase,
    RunState,
)

LIMITS = RunConfig(max_steps=4, max_malformed=3, max_model_failures=3)
TO_RUN = NewCall("calculator", {"expression": "1+1"}, "tools.local")
REFUSED = NewCall("nonsense", {}, "tools.local", observation="There is no tool nonsense.")

THINK_EVENTS: list[ThinkEvent] = [
    Acted((TO_RUN,), "I add."),
    Acted((TO_RUN, TO_RUN, REFUSED), "I add twice."),
    Acted((REFUSED,), "I try."),
    Acted((TO_RUN,), "Once more.", looping=True),
    Answered("Two."),
    Unreadable("hm"),
    Unreadable("So, the ans", cut=True),
    UsedUp(),
    ModelFailed("refused", 0.0, "refused"),
    ModelFailed("429", 30.0, "asked to wait", counts=False),
    Rejected(ErrorCode.CONTENT_FILTER, "filtered"),
    OverBudget(0.5),
    *[GivenBack(outcome) for outcome in (Outcome.LOST, Outcome.HANDED_BACK, Outcome.DEFERRED, Outcome.STOPPED)],
    GivenBack(Outcome.DEFERRED, 5.0, "a bucket"),
    GivenBack(Outcome.DEFERRED, reason="paused", park=Parking(Parked.MODEL, "x")),
]
CALL_EVENTS: list[CallEvent] = [
    CallFinished("2"),
    CallFinished("division by zero", Outcome.ERROR),
    CallRetried("refused", 1.0),
    *[GivenBack(outcome) for outcome in (Outcome.LOST, Outcome.HANDED_BACK, Outcome.DEFERRED)],
]
THINKING = [
    Hot(phase, step, attempt=2, failures=failures, deaths=deaths, quarantined=deaths >= 2, malformed=malformed,
        final_reason=final, last_words="so far")
    for phase, step, failures, deaths, malformed, final in product(
        (Phase.THINK, Phase.WAIT), (1, 3, 4, 5), (0, 2), (0, 1, 2), (0, 2), (None, "tool_loop")
    )
]  # fmt: skip
STATE = {field.name for field in fields(State)}
VIEWS = [
    CallView(2, failures, deaths, deaths >= 2, started, idempotent, tries, "mail")
    for failures, deaths, started, idempotent, tries in product((0, 1), (0, 1, 2), (False, True), (False, True), (1, 2))
]


def after(hot: Hot, new: State | Place) -> Hot:
    """The hot row once these fields of it are written."""
    return replace(hot, **{field.name: getattr(new, field.name) for field in fields(new) if field.name in STATE})


def check_think(hot: Hot, decision: Move | End) -> None:
    """What holds of every decision about a model call."""
    if isinstance(decision, End):
        assert decision.state in RUN_TRANSITIONS[RunState.ACTIVE]
        assert (decision.code is None) == (decision.state == RunState.SUCCEEDED)
        assert decision.code is None or decision.code in set(ErrorCode)
        return
    new = after(hot, decision.state)
    assert Phase(new.phase) in PHASE_TRANSITIONS[Phase(hot.phase)]
    assert new.step in (hot.step, hot.step + 1)
    assert new.attempt == 1 if decision.calls or new.step > hot.step else new.attempt == hot.attempt + 1
    open_calls = sum(call.observation is None for call in decision.calls)
    assert new.pending == open_calls and (new.phase == Phase.ACT) == (open_calls > 0)


@pytest.mark.parametrize("event", THINK_EVENTS, ids=repr)
def test_every_event_leads_from_every_thinking_state_only_where_the_tables_allow(event: ThinkEvent) -> None:
    for hot in THINKING:
        check_think(hot, decide_think(hot, event, LIMITS))


@pytest.mark.parametrize("event", CALL_EVENTS, ids=repr)
def test_every_end_of_a_tool_attempt_leads_only_where_the_tables_allow(event: CallEvent) -> None:
    for view, pending in product(VIEWS, (1, 2, 3)):
        hot = Hot(Phase.ACT, 2, pending=pending)
        change = decide_call(hot, view, event)
        if isinstance(change, CallAgain):
            assert change.tries.attempt == view.attempt + 1
            assert not view.started or view.idempotent, "what may have had its effect is not done twice"
        elif isinstance(change.run, Place):
            new = after(hot, change.run)
            assert pending == 1 and (new.phase, new.step, new.pending) == (Phase.THINK, 3, 0)
        else:
            assert isinstance(change.run, End) or pending > 1
            assert change.observation and change.outcome


def test_the_tables_name_every_state_and_ended_runs_only_begin_anew() -> None:
    assert set(RUN_TRANSITIONS) == set(RunState) and set(PHASE_TRANSITIONS) == set(Phase)
    assert all(RUN_TRANSITIONS[state] <= {RunState.QUEUED} for state in ENDED)
    assert RUN_TRANSITIONS[RunState.SUCCEEDED] == set()
    assert not any(RunState.ACTIVE in RUN_TRANSITIONS[state] for state in ENDED), "ended runs are admitted anew"


@given(st.lists(st.one_of(st.sampled_from(THINK_EVENTS), st.sampled_from(CALL_EVENTS)), max_size=60), st.randoms())
def test_over_any_sequence_steps_never_go_back_a_run_ends_once_and_pending_adds_up(events: list, random) -> None:  # type: ignore[no-untyped-def,type-arg]
    hot, out, ended = Hot(Phase.THINK, 1), 0, 0
    for event in events:
        if ended:
            break
        before = hot.step
        if hot.phase == Phase.ACT and isinstance(event, (CallFinished, CallRetried, GivenBack)):
            change = decide_call(hot, random.choice(VIEWS), event)
            hot, out, ended = _follow_call(hot, change, out)
        elif hot.phase != Phase.ACT and not isinstance(event, (CallFinished, CallRetried)):
            decision = decide_think(hot, event, LIMITS)
            check_think(hot, decision)
            ended += isinstance(decision, End)
            hot = hot if isinstance(decision, End) else after(hot, decision.state)
            out = hot.pending
        assert hot.step >= before and ended <= 1
        assert ended or (hot.pending == out and (hot.phase == Phase.ACT) == (out > 0))
        assert ended or hot.step <= LIMITS.max_steps, "no step begins beyond the last allowed one"


def _follow_call(hot: Hot, change: CallChange, out: int) -> tuple[Hot, int, int]:
    if isinstance(change, CallAgain):
        return hot, out, 0
    if isinstance(change.run, End):
        return hot, out, 1
    out -= 1
    return after(hot, change.run) if change.run else replace(hot, pending=out), out, 0


def test_only_a_death_alone_in_quarantine_poisons_and_hand_backs_never_count() -> None:
    hot = Hot(Phase.THINK, 1)
    for _ in range(20):
        hot = _moved(hot, GivenBack(Outcome.HANDED_BACK))
        hot = _moved(hot, GivenBack(Outcome.DEFERRED, 3.0))
        hot = replace(hot, phase=Phase.THINK)
    assert (hot.deaths, hot.failures, hot.quarantined) == (0, 0, False)
    for death in range(1, DEATHS_UNTIL_QUARANTINE + 1):
        hot = _moved(hot, GivenBack(Outcome.LOST))
        assert hot.quarantined == (death == DEATHS_UNTIL_QUARANTINE)
    assert _moved(hot, GivenBack(Outcome.HANDED_BACK)).quarantined, "it goes on alone after a shutdown"
    end = decide_think(hot, GivenBack(Outcome.LOST), LIMITS)
    assert isinstance(end, End) and end.code == "poisoned"


def _moved(hot: Hot, event: ThinkEvent) -> Hot:
    decision = decide_think(hot, event, LIMITS)
    assert isinstance(decision, Move)
    return after(hot, decision.state)


def test_a_call_that_may_have_had_its_effect_is_never_repeated_and_says_so() -> None:
    for outcome in (Outcome.LOST, Outcome.HANDED_BACK):
        change = decide_call(Hot(Phase.ACT, 1, pending=1), CallView(started=True, tool="mail"), GivenBack(outcome))
        assert isinstance(change, CallDone) and change.observation == unknown_outcome("mail")
        again = decide_call(Hot(Phase.ACT, 1, pending=1), CallView(started=True, idempotent=True), GivenBack(outcome))
        assert isinstance(again, CallAgain)


def test_a_waiting_model_call_is_not_a_failed_one() -> None:
    hot = Hot(Phase.THINK, 1)
    for _ in range(50):
        hot = _moved(hot, ModelFailed("429", 30.0, "asked to wait", counts=False))
    assert hot.failures == 0 and hot.phase == Phase.WAIT
    hot = _moved(_moved(hot, ModelFailed("500", 1.0, "server error")), ModelFailed("500", 1.0, "server error"))
    end = decide_think(hot, ModelFailed("500", 1.0, "server error"), LIMITS)
    assert isinstance(end, End) and end.code == "internal" and "3 times" in (end.message or "")


def test_at_the_last_step_and_after_a_loop_the_model_must_answer_and_its_last_words_are_kept() -> None:
    assert last_step(Hot(Phase.THINK, 3), LIMITS) is None
    assert last_step(Hot(Phase.THINK, 4), LIMITS) == "max_steps"
    end = decide_think(Hot(Phase.THINK, 4, last_words="before"), Acted((TO_RUN,), "almost"), LIMITS)
    assert isinstance(end, End) and (end.code, end.partial) == ("max_steps", "almost")
    looped = _moved(Hot(Phase.THINK, 2), Acted((TO_RUN,), "again", looping=True))
    assert looped.final_reason == "tool_loop"
    told = replace(looped, phase=Phase.THINK, step=3, pending=0)
    end = decide_think(told, Acted((TO_RUN,), ""), LIMITS)
    assert isinstance(end, End) and (end.code, end.partial) == ("tool_loop", "again")
    assert decide_think(told, Answered("Two."), LIMITS) == End(RunState.SUCCEEDED, answer="Two.")


def test_replies_that_cannot_be_read_are_borne_only_so_often_in_a_row() -> None:
    hot = _moved(_moved(Hot(Phase.THINK, 1), Unreadable("a")), Unreadable("b"))
    end = decide_think(hot, Unreadable("c"), LIMITS)
    assert isinstance(end, End) and (end.code, end.partial) == ("malformed_replies", "c")
    assert _moved(hot, Acted((TO_RUN,), "d")).malformed == 0


def test_a_run_that_replies_ended_says_why_the_last_one_could_not_be_read() -> None:
    hot = _moved(_moved(Hot(Phase.THINK, 1), Unreadable("a", reason="No label.")), Unreadable("b"))
    end = decide_think(hot, Unreadable("c", reason="There is no tool 'x'."), LIMITS)
    assert isinstance(end, End)
    assert end.message == "3 replies in a row could not be read. The last one: There is no tool 'x'."
    wordy = decide_think(hot, Unreadable("c", reason="word " * 1000), LIMITS)
    assert isinstance(wordy, End) and 600 < len(str(wordy.message)) < 700
    silent = decide_think(hot, Unreadable("c"), LIMITS)
    assert isinstance(silent, End) and silent.message == "3 replies in a row could not be read."
    last = decide_think(Hot(Phase.THINK, 4), Unreadable("c", reason="No\nlabel."), LIMITS)
    assert isinstance(last, End)
    assert last.message == "This was the last allowed step, and the model's reply could not be read. No label."


def test_a_call_that_may_pass_the_allotment_ends_the_run_with_its_last_words() -> None:
    hot = Hot(Phase.THINK, 2, last_words="So far: two.", cost_usd=0.2, reserved_usd=0.1, allotment_usd=0.5)
    ended = decide_think(hot, OverBudget(0.25), LIMITS)
    assert isinstance(ended, End)
    assert (ended.state, ended.code, ended.partial) == (RunState.FAILED, ErrorCode.BUDGET, "So far: two.")
    assert "$0.2500" in str(ended.message) and "$0.5000" in str(ended.message) and "$0.3000" in str(ended.message)


def test_thinking_that_uses_up_the_output_limit_is_allowed_twice_as_much_once() -> None:
    hot = Hot(Phase.THINK, 2, attempt=3, malformed=1, last_words="So far: two.")
    raised = _moved(hot, UsedUp())
    assert (raised.step, raised.attempt, raised.malformed, raised.output_raises) == (2, 4, 1, 1)
    assert (output_tokens(hot, LIMITS), output_tokens(raised, LIMITS)) == (4096, 8192)
    end = decide_think(raised, UsedUp(), LIMITS)
    assert isinstance(end, End)
    assert (end.state, end.code, end.partial) == (RunState.FAILED, ErrorCode.OUTPUT_LIMIT, "So far: two.")
    assert "all 8192 output tokens" in str(end.message) and "max_output_tokens, raised from 4096" in str(end.message)


@pytest.mark.parametrize("ceiling", [4096, 100])
def test_an_output_limit_with_a_ceiling_that_is_no_higher_is_never_raised(ceiling: int) -> None:
    end = decide_think(Hot(Phase.THINK, 1), UsedUp(), LIMITS.model_copy(update={"max_output_tokens_ceiling": ceiling}))
    assert isinstance(end, End) and end.code == ErrorCode.OUTPUT_LIMIT
    assert "all 4096 output tokens of a reply (max_output_tokens)" in str(end.message)


def test_a_limit_in_the_extra_body_has_the_last_word_and_is_never_raised() -> None:
    plain = {"max_output_tokens": 100}
    assert RunConfig.stored(plain).raised_output_tokens == 200
    assert RunConfig.stored({**plain, "max_output_tokens_ceiling": 150}).raised_output_tokens == 150
    own = RunConfig.stored({**plain, "extra_body": {"max_completion_tokens": 500, "top_k": 1}})
    assert (own.output_tokens, own.raised_output_tokens) == (500, 500)


def test_replies_that_were_all_cut_off_end_the_run_with_the_output_limit_and_others_do_not() -> None:
    cut = Unreadable("So", cut=True)
    hot = _moved(_moved(Hot(Phase.THINK, 1), cut), cut)
    end = decide_think(hot, cut, LIMITS)
    assert isinstance(end, End) and (end.code, end.partial) == ("output_limit", "So")
    assert "3 replies in a row were cut off at 4096 output tokens (max_output_tokens)" in str(end.message)
    assert decide_think(hot, Unreadable("hm"), LIMITS).code == "malformed_replies"  # type: ignore[union-attr]
