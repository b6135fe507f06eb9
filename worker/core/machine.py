"""Every move of a run, decided purely: `decide_…` says what shall be written, and the store writes it, guarded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worker.core.config import RunConfig
from worker.core.moves import (
    Acted,
    Answered,
    CallChange,
    CallEnded,
    CallEvent,
    CallRetried,
    CallView,
    End,
    GivenBack,
    Hot,
    ModelFailed,
    Move,
    OverBudget,
    Overflowed,
    Rejected,
    ThinkEvent,
    Unreadable,
    UsedUp,
)
from worker.core.states import CallState, Outcome, Phase, RunState

DEATHS_UNTIL_QUARANTINE = 2
MAX_FOLDS = 3
_MAX_REASON_CHARS = 600

_FRESH: Mapping[str, Any] = {"attempt": 1, "failures": 0, "deaths": 0, "quarantined": False, "wait_reason": None}

FINAL_REASONS = {
    "max_steps": "This was the last allowed step",
    "tool_loop": "The same tool was called again and again with the same arguments",
}


def last_step(hot: Hot, config: RunConfig) -> str | None:
    """Why the model must answer in this step, or None."""
    if hot.final_reason:
        return hot.final_reason
    return "max_steps" if hot.step >= config.max_steps else None


def decide_think(hot: Hot, event: ThinkEvent, config: RunConfig) -> Move | End:
    """What follows from the end of a model call's attempt."""
    match event:
        case Answered(answer):
            return End(RunState.SUCCEEDED, answer=answer)
        case Acted():
            return _acted(hot, event, config)
        case Unreadable():
            return _unreadable(hot, event, config)
        case UsedUp():
            return _used_up(hot, config)
        case Rejected(code, message):
            return End(RunState.FAILED, code, message, partial=hot.last_words)
        case Overflowed(message):
            return _overflowed(hot, message)
        case OverBudget(bound_usd):
            return End(RunState.FAILED, "budget", _over_budget(hot, bound_usd), partial=hot.last_words)
        case ModelFailed():
            return _model_failed(hot, event, config)
        case GivenBack():
            return _think_given_back(hot, event)


def _acted(hot: Hot, event: Acted, config: RunConfig) -> Move | End:
    final = last_step(hot, config)
    if final:
        message = f"{FINAL_REASONS[final]}, and the model still called a tool instead of answering."
        return End(RunState.FAILED, final, message, partial=event.words or hot.last_words)
    pending = sum(call.observation is None for call in event.calls)
    changes = {**_FRESH, "malformed": 0, "last_words": event.words or hot.last_words}
    if event.looping:
        changes["final_reason"] = "tool_loop"
    if pending:
        return Move({**changes, "phase": Phase.ACT, "pending": pending}, calls=event.calls)
    return Move({**changes, "phase": Phase.THINK, "step": hot.step + 1, "pending": 0}, calls=event.calls)


def _unreadable(hot: Hot, event: Unreadable, config: RunConfig) -> Move | End:
    streak = hot.malformed + 1
    words = event.words or hot.last_words
    final = last_step(hot, config)
    if streak >= config.max_malformed and event.cut:
        return End(RunState.FAILED, "output_limit", _all_cut(streak, hot, config), partial=words)
    if streak >= config.max_malformed:
        return End(RunState.FAILED, "malformed_replies", _all_unreadable(streak, event), partial=words)
    if final and hot.step >= config.max_steps:
        message = f"{FINAL_REASONS[final]}, and the model's reply could not be read. {_why(event)}".rstrip()
        return End(RunState.FAILED, final, message, partial=words)
    changes = {**_FRESH, "malformed": streak, "last_words": words}
    return Move({**changes, "phase": Phase.THINK, "step": hot.step + 1, "pending": 0})


def output_tokens(hot: Hot, config: RunConfig) -> int:
    """The output limit of the run's next model call."""
    return config.raised_output_tokens if hot.output_raises else config.output_tokens


def may_raise(hot: Hot, config: RunConfig) -> bool:
    """Whether the output limit of this run was not raised yet, and its configuration allows it."""
    return not hot.output_raises and config.raised_output_tokens > config.output_tokens


def _used_up(hot: Hot, config: RunConfig) -> Move | End:
    """The same step once more with a higher output limit, if that was not tried yet; to ask for less would not help."""
    if may_raise(hot, config):
        return Move({"phase": Phase.THINK, "attempt": hot.attempt + 1, "output_raises": hot.output_raises + 1})
    return End(RunState.FAILED, "output_limit", used_up(hot, config), partial=hot.last_words)


def used_up(hot: Hot, config: RunConfig) -> str:
    """What people read of a reply that was nothing but thinking."""
    most = output_tokens(hot, config)
    raised = f", raised from {config.output_tokens}" if most > config.output_tokens else ""
    return (
        f"Thinking used up all {most} output tokens of a reply (max_output_tokens{raised}), and nothing was said. "
        "Set max_output_tokens higher, or let the model think less."
    )


def _all_unreadable(streak: int, event: Unreadable) -> str:
    """What people read of replies in no known form; the last one's reason tells them what the model keeps doing."""
    return f"{streak} replies in a row could not be read." + (f" The last one: {_why(event)}" if event.reason else "")


def _why(event: Unreadable) -> str:
    """The reason on one line; parts of it may come from the model."""
    return " ".join(event.reason.split())[:_MAX_REASON_CHARS]


def _all_cut(streak: int, hot: Hot, config: RunConfig) -> str:
    return (
        f"{streak} replies in a row were cut off at {output_tokens(hot, config)} output tokens (max_output_tokens). "
        "Set max_output_tokens higher, or ask for shorter answers."
    )


def _overflowed(hot: Hot, message: str) -> Move | End:
    if hot.folds >= MAX_FOLDS or hot.step == 1:
        return End(RunState.FAILED, "context_overflow", message, partial=hot.last_words)
    changes = {"phase": Phase.THINK, "attempt": hot.attempt + 1, "folds": hot.folds + 1, "wait_reason": message}
    return Move(changes)


def _over_budget(hot: Hot, bound_usd: float) -> str:
    used = hot.cost_usd + hot.reserved_usd
    return (
        f"The next model call may cost up to ${bound_usd:.4f}, and of the ${hot.allotment_usd or 0.0:.4f} that the run "
        f"was allotted of its batch's budget ${used:.4f} are used."
    )


def _model_failed(hot: Hot, event: ModelFailed, config: RunConfig) -> Move | End:
    failures = hot.failures + event.counts
    if failures >= config.max_model_failures:
        message = f"The model call failed {failures} times; the last time: {event.message}"
        return End(RunState.FAILED, "internal", message, partial=hot.last_words)
    changes = {"phase": Phase.WAIT, "attempt": hot.attempt + 1, "failures": failures, "wait_reason": event.reason}
    return Move(changes, due_in_s=event.retry_in_s)


def _think_given_back(hot: Hot, event: GivenBack) -> Move | End:
    died = event.outcome == Outcome.LOST
    if died and hot.quarantined:
        message = "The process that made this model call died, also when it ran alone."
        return End(RunState.FAILED, "poisoned", message, partial=hot.last_words)
    deaths = hot.deaths + died
    changes: dict[str, Any] = {
        "phase": Phase.WAIT if event.retry_in_s > 0 else Phase.THINK,
        "attempt": hot.attempt + 1,
        "deaths": deaths,
        "quarantined": hot.quarantined or deaths >= DEATHS_UNTIL_QUARANTINE,
        "wait_reason": event.reason,
    }
    if event.park:
        changes |= {"parked": event.park.kind.value, "parked_target": event.park.target}
    return Move(changes, due_in_s=event.retry_in_s)


def decide_call(hot: Hot, call: CallView, event: CallEvent) -> CallChange:
    """What follows from the end of a tool call's attempt."""
    match event:
        case CallEnded(observation, outcome):
            return _call_done(hot, observation, outcome)
        case CallRetried(message, retry_in_s):
            failures = call.failures + 1
            if failures >= max(call.max_attempts, 1) or (call.started and not call.idempotent):
                return _call_done(hot, message, Outcome.ERROR)
            changes: dict[str, Any] = {"state": CallState.PENDING, "attempt": call.attempt + 1, "failures": failures,
                       "started_at": None, "wait_reason": message}  # fmt: skip
            return CallChange(changes, due_in_s=retry_in_s)
        case GivenBack():
            return _call_given_back(hot, call, event)


def _call_done(hot: Hot, observation: str, outcome: str) -> CallChange:
    changes: dict[str, Any] = {"state": CallState.DONE, "observation": observation, "outcome": outcome}
    if hot.pending > 1:
        return CallChange(changes)
    run = Move({**_FRESH, "phase": Phase.THINK, "step": hot.step + 1, "pending": 0})
    return CallChange(changes, run=run)


def _call_given_back(hot: Hot, call: CallView, event: GivenBack) -> CallChange:
    died = event.outcome == Outcome.LOST
    if call.started and not call.idempotent:
        return _call_done(hot, unknown_outcome(call.tool), Outcome.LOST)
    if died and call.quarantined:
        message = f"The process that ran the tool {call.tool} died, also when it ran alone."
        done: dict[str, Any] = {"state": CallState.DONE, "observation": message, "outcome": Outcome.LOST}
        return CallChange(done, run=End(RunState.FAILED, "poisoned", message, partial=hot.last_words))
    deaths = call.deaths + died
    changes: dict[str, Any] = {
        "state": CallState.PENDING,
        "attempt": call.attempt + 1,
        "deaths": deaths,
        "quarantined": call.quarantined or deaths >= DEATHS_UNTIL_QUARANTINE,
        "started_at": None,
        "wait_reason": event.reason,
    }
    return CallChange(changes, due_in_s=event.retry_in_s)


def unknown_outcome(tool: str) -> str:
    """What the model reads when a call that must not be repeated was interrupted."""
    return (
        f"The call of {tool} was interrupted after it had begun, and it is not known whether it took effect. "
        "It was not repeated. Check by other means before you rely on it or call it again."
    )
