"""Decides every move of a run. Pure: `decide_…` returns what to write, and the store writes it under guards."""

from __future__ import annotations

from dataclasses import fields, replace

from worker.core.config import RunConfig
from worker.core.errors import ErrorCode
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
    OverBudget,
    Overflowed,
    Place,
    Rejected,
    State,
    ThinkEvent,
    Tries,
    Unreadable,
    UsedUp,
)
from worker.core.states import Outcome, Phase, RunState

DEATHS_UNTIL_QUARANTINE = 2
MAX_FOLDS = 3
_MAX_REASON_CHARS = 600

FINAL_REASONS = {
    ErrorCode.MAX_STEPS: "This was the last allowed step",
    ErrorCode.TOOL_LOOP: "The same tool was called again and again with the same arguments",
}


def last_step(hot: Hot, config: RunConfig) -> ErrorCode | None:
    """Returns why the model must answer in this step, or None."""
    if hot.final_reason:
        return ErrorCode(hot.final_reason)
    return ErrorCode.MAX_STEPS if hot.step >= config.max_steps else None


def decide_think(hot: Hot, event: ThinkEvent, config: RunConfig) -> Move | End:
    """Decides what follows the end of a model call's attempt."""
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
            return End(RunState.FAILED, ErrorCode.BUDGET, _over_budget(hot, bound_usd), partial=hot.last_words)
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
    place = Place(Phase.ACT, hot.step, pending=pending) if pending else _next_step(hot)
    reason = ErrorCode.TOOL_LOOP if event.looping else None
    return Move(_at(hot, place, 0, event.words or hot.last_words, reason), calls=event.calls)


def _unreadable(hot: Hot, event: Unreadable, config: RunConfig) -> Move | End:
    streak = hot.malformed + 1
    words = event.words or hot.last_words
    final = last_step(hot, config)
    if streak >= config.max_malformed and event.cut:
        return End(RunState.FAILED, ErrorCode.OUTPUT_LIMIT, _all_cut(streak, hot, config), partial=words)
    if streak >= config.max_malformed:
        return End(RunState.FAILED, ErrorCode.MALFORMED_REPLIES, _all_unreadable(streak, event), partial=words)
    if final and hot.step >= config.max_steps:
        message = f"{FINAL_REASONS[final]}, and the model's reply could not be read. {_why(event)}".rstrip()
        return End(RunState.FAILED, final, message, partial=words)
    return Move(_at(hot, _next_step(hot), streak, words))


def _next_step(hot: Hot) -> Place:
    return Place(Phase.THINK, hot.step + 1)


def _at(hot: Hot, place: Place, malformed: int, words: str | None, final_reason: str | None = None) -> State:
    """Returns the run's state at a new place, after a reply."""
    stands = {name: getattr(place, name) for name in _PLACE}
    reason = final_reason or hot.final_reason
    return replace(hot, **stands, malformed=malformed, last_words=words, final_reason=reason)


_PLACE = tuple(field.name for field in fields(Place))


def output_tokens(hot: Hot, config: RunConfig) -> int:
    """Returns the output limit of the run's next model call, in tokens."""
    return config.raised_output_tokens if hot.output_raises else config.output_tokens


def may_raise(hot: Hot, config: RunConfig) -> bool:
    """Returns whether this run's output limit has not been raised yet and may be."""
    return not hot.output_raises and config.raised_output_tokens > config.output_tokens


def _used_up(hot: Hot, config: RunConfig) -> Move | End:
    """Repeats the step with a higher output limit if that has not been tried yet; otherwise ends the run."""
    if may_raise(hot, config):
        return Move(replace(_again(hot), output_raises=hot.output_raises + 1))
    return End(RunState.FAILED, ErrorCode.OUTPUT_LIMIT, used_up(hot, config), partial=hot.last_words)


def used_up(hot: Hot, config: RunConfig) -> str:
    """Returns the message for people about a reply that was nothing but thinking."""
    most = output_tokens(hot, config)
    raised = f", raised from {config.output_tokens}" if most > config.output_tokens else ""
    return (
        f"Thinking used up all {most} output tokens of a reply (max_output_tokens{raised}), and nothing was said. "
        "Set max_output_tokens higher, or let the model think less."
    )


def _all_unreadable(streak: int, event: Unreadable) -> str:
    """Returns the message for people about unreadable replies; the last reason shows what the model keeps doing."""
    return f"{streak} replies in a row could not be read." + (f" The last one: {_why(event)}" if event.reason else "")


def _why(event: Unreadable) -> str:
    """Returns the reason on one bounded line, since parts of it may come from the model."""
    return " ".join(event.reason.split())[:_MAX_REASON_CHARS]


def _all_cut(streak: int, hot: Hot, config: RunConfig) -> str:
    return (
        f"{streak} replies in a row were cut off at {output_tokens(hot, config)} output tokens (max_output_tokens). "
        "Set max_output_tokens higher, or ask for shorter answers."
    )


def _overflowed(hot: Hot, message: str) -> Move | End:
    if hot.folds >= MAX_FOLDS or hot.step == 1:
        return End(RunState.FAILED, ErrorCode.CONTEXT_OVERFLOW, message, partial=hot.last_words)
    return Move(replace(_again(hot), folds=hot.folds + 1), wait_reason=message)


def _over_budget(hot: Hot, bound_usd: float) -> str:
    used = hot.cost_usd + hot.reserved_usd
    return (
        f"The next model call may cost up to ${bound_usd:.4f}, and ${used:.4f} of the ${hot.allotment_usd or 0.0:.4f} "
        "allotted to the run from its batch's budget is used."
    )


def _model_failed(hot: Hot, event: ModelFailed, config: RunConfig) -> Move | End:
    failures = hot.failures + event.counts
    if failures >= config.max_model_failures:
        message = f"The model call failed {failures} times; the last time: {event.message}"
        return End(RunState.FAILED, ErrorCode.INTERNAL, message, partial=hot.last_words)
    state = replace(_again(hot, Phase.WAIT), failures=failures)
    return Move(state, event.reason, due_in_s=event.retry_in_s)


def _think_given_back(hot: Hot, event: GivenBack) -> Move | End:
    died = event.outcome == Outcome.LOST
    if died and hot.quarantined:
        message = "The process that made this model call died again when it ran alone."
        return End(RunState.FAILED, ErrorCode.POISONED, message, partial=hot.last_words)
    deaths = hot.deaths + died
    again = _again(hot, Phase.WAIT if event.retry_in_s > 0 else Phase.THINK)
    state = replace(again, deaths=deaths, quarantined=hot.quarantined or deaths >= DEATHS_UNTIL_QUARANTINE)
    return Move(state, event.reason, event.park, event.retry_in_s)


def _again(hot: Hot, phase: Phase = Phase.THINK) -> State:
    """Returns the state for another attempt at the same model call."""
    return replace(hot, phase=phase, attempt=hot.attempt + 1)


def decide_call(hot: Hot, call: CallView, event: CallEvent) -> CallChange:
    """Decides what follows the end of a tool call's attempt."""
    match event:
        case CallFinished(observation, outcome):
            return _call_done(hot, observation, outcome)
        case CallRetried(message, retry_in_s):
            failures = call.failures + 1
            if failures >= max(call.max_attempts, 1) or (call.started and not call.idempotent):
                return _call_done(hot, message, Outcome.ERROR)
            tries = Tries(call.attempt + 1, failures, call.deaths, call.quarantined)
            return CallAgain(tries, message, retry_in_s)
        case GivenBack():
            return _call_given_back(hot, call, event)


def _call_done(hot: Hot, observation: str, outcome: str) -> CallDone:
    return CallDone(observation, outcome, None if hot.pending > 1 else _next_step(hot))


def _call_given_back(hot: Hot, call: CallView, event: GivenBack) -> CallChange:
    died = event.outcome == Outcome.LOST
    if call.started and not call.idempotent:
        return _call_done(hot, unknown_outcome(call.tool), Outcome.LOST)
    if died and call.quarantined:
        message = f"The process that ran the tool {call.tool} died again when it ran alone."
        end = End(RunState.FAILED, ErrorCode.POISONED, message, partial=hot.last_words)
        return CallDone(message, Outcome.LOST, end)
    deaths = call.deaths + died
    quarantined = call.quarantined or deaths >= DEATHS_UNTIL_QUARANTINE
    tries = Tries(call.attempt + 1, call.failures, deaths, quarantined)
    return CallAgain(tries, event.reason, event.retry_in_s)


def unknown_outcome(tool: str) -> str:
    """Returns the observation for an interrupted call that must not be repeated."""
    return (
        f"The call of {tool} was interrupted after it had begun, and it is not known whether it took effect. "
        "It was not repeated. Check by other means before you rely on it or call it again."
    )
