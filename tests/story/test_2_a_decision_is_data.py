"""Chapter 2. What follows from a reply is decided purely, and written down as data that others carry out."""

from __future__ import annotations

from worker.core.config import RunConfig
from worker.core.machine import decide_call, decide_think
from worker.core.moves import (
    Acted,
    Answered,
    CallAgain,
    CallDone,
    CallFinished,
    CallView,
    End,
    GivenBack,
    Hot,
    Move,
    NewCall,
    Place,
)
from worker.core.states import Outcome

THINKING = Hot(phase="think", step=1)
ADD = NewCall("calculator", {"expression": "2 + 2"}, "tools.local")


def test_an_action_moves_the_run_to_its_calls() -> None:
    decision = decide_think(THINKING, Acted((ADD, ADD), "I add twice."), RunConfig())
    assert isinstance(decision, Move) and (decision.state.phase, decision.state.pending) == ("act", 2)


def test_only_the_last_call_of_a_step_moves_the_run_on() -> None:
    ended = CallFinished("4")
    assert decide_call(Hot("act", 1, pending=2), CallView(), ended) == CallDone("4", Outcome.OK, run=None)
    last = decide_call(Hot("act", 1, pending=1), CallView(), ended)
    assert last == CallDone("4", Outcome.OK, run=Place("think", step=2))


def test_an_answer_ends_the_run() -> None:
    decision = decide_think(THINKING, Answered("Four."), RunConfig())
    assert isinstance(decision, End) and decision.answer == "Four."


def test_an_action_at_the_last_step_ends_the_run_and_keeps_its_last_words() -> None:
    decision = decide_think(THINKING, Acted((ADD,), "I would add."), RunConfig(max_steps=1))
    assert isinstance(decision, End) and (decision.code, decision.partial) == ("max_steps", "I would add.")


def test_a_call_that_must_not_be_repeated_is_not() -> None:
    lost = GivenBack(Outcome.LOST)
    begun = decide_call(Hot("act", 1, pending=1), CallView(started=True, tool="transfer"), lost)
    assert isinstance(begun, CallDone) and "not known whether it took effect" in begun.observation
    repeatable = decide_call(Hot("act", 1, pending=1), CallView(started=True, idempotent=True), lost)
    assert isinstance(repeatable, CallAgain) and repeatable.tries.attempt == 2
