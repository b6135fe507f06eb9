"""Builds the prompt from the history, and the event from the reply. Does no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from tools.base import BadArguments, Tool
from worker.core.config import RunConfig
from worker.core.finish_reasons import Ending, ending_of
from worker.core.folding import BYTES_PER_TOKEN, fold
from worker.core.loops import looping
from worker.core.machine import FINAL_REASONS, MAX_FOLDS, last_step, output_tokens
from worker.core.moves import Acted, Answered, Hot, NewCall, ThinkEvent, Unreadable, UsedUp
from worker.core.provider_extras import message_extra, to_store, untied
from worker.core.records import (
    Actions,
    Answer,
    JsonObject,
    Malformed,
    Message,
    Observed,
    Parsed,
    Reply,
    ToolRequest,
    Turn,
)
from worker.dialects import dialect
from worker.dialects.parsing.binding import Unbound, bind
from worker.dialects.parsing.prose import prose
from worker.dialects.prompt import messages
from worker.llm.client import ModelReply
from worker.store.hot.interface import StepRecord
from worker.store.queries.history import History

ASK_PERSON = "ask_person"
"""The tool whose calls a person answers; no worker runs it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The request to the model for one step."""

    messages: list[Message]
    stop: tuple[str, ...]
    extra: JsonObject

    @property
    def size_bytes(self) -> int:
        """The approximate size of the prompt, including fields sent back to the endpoint."""
        values = (value for message in self.messages for name, value in message.items() if name != "role")
        return sum(len(str(value).encode("utf-8", "replace")) for value in values)

    @property
    def about_tokens(self) -> int:
        """An estimate of the tokens that the endpoint will count, tools included."""
        return (self.size_bytes + len(str(self.extra))) // BYTES_PER_TOKEN


def prompt(config: RunConfig, system: str, tools: Sequence[Tool], past: History, hot: Hot, endpoint_id: str) -> Prompt:
    """Builds the conversation for the next model call; at a last step it tells the model to answer now.

    If the model's context is known, observations are cut until the prompt fits, as after a refusal. If it still does
    not fit, it is sent anyway, because the number of tokens is an estimate.
    """
    spoken = dialect(config.dialect)
    final = last_step(hot, config)
    notice = f"{FINAL_REASONS[final]}. Call no more tools: answer now with what you have." if final else None
    examples = [given.example() for given in config.examples]
    turns = given_back(past.turns, endpoint_id)
    most = config.context_window and config.context_window - output_tokens(hot, config)

    def folded(folds: int) -> Prompt:
        asked = messages(spoken, system, examples, past.question, fold(turns, folds), notice)
        return Prompt(asked, spoken.stop, spoken.request(tools))

    prompts = (folded(folds) for folds in range(hot.folds, MAX_FOLDS + 1))
    asked = next(prompts)
    while most is not None and turns and asked.about_tokens > most and (shorter := next(prompts, None)) is not None:
        asked = shorter
    return asked


def given_back(turns: Sequence[Turn], endpoint_id: str) -> list[Turn]:
    """Returns the turns without the extra fields and call ids that came from other endpoints."""
    return [turn if turn.endpoint_id == endpoint_id else _plain(turn) for turn in turns]


def _plain(turn: Turn) -> Turn:
    calls = tuple(Observed(call.tool, call.args, call.observation) for call in turn.calls)
    return replace(turn, calls=calls, extra={})


def read_reply(
    reply: ModelReply, config: RunConfig, tools: Sequence[Tool], past: History, endpoint_id: str
) -> tuple[ThinkEvent, StepRecord]:
    """Returns what the reply means, and its step for the history."""
    parsed = _parsed(reply.reply, config, tools)
    event, kind, notice = _event(reply.reply, parsed, config, tools, past)
    record = StepRecord(
        kind=kind,
        reply=reply.reply.text,
        kept=parsed.kept,
        thought=parsed.thought,
        finish_reason=reply.finish_reason,
        model=config.model,
        message=reply.reply.message if reply.reply.message.get("tool_calls") else None,
        notice=notice,
        answer=parsed.text if isinstance(parsed, Answer) else None,
        latency_s=reply.latency_s,
        extras=_extras(reply.reply.message, parsed),
        endpoint_id=endpoint_id,
    )
    return event, record


def _extras(message: JsonObject, parsed: Parsed) -> JsonObject | None:
    """Returns the message's extra fields to store; None for an answer, which is never sent back."""
    if isinstance(parsed, Answer):
        return None
    extra = message_extra(message)
    if isinstance(parsed, Actions):
        return to_store(extra, [call.extra for call in parsed.calls])
    items = message.get("tool_calls")
    shown_no_more = {str(item.get("id")) for item in items if isinstance(item, dict)} if isinstance(items, list) else ()
    return to_store(untied(extra, shown_no_more), [])


def _parsed(reply: Reply, config: RunConfig, tools: Sequence[Tool]) -> Parsed:
    """Parses with the dialect; unreadable prose counts as the answer if the agent allows plain answers."""
    parsed = _with_refusal(dialect(config.dialect).parse(reply, tools), reply)
    if not isinstance(parsed, Malformed) or not config.plain_answers:
        return parsed
    text = prose(reply, tools)
    return parsed if text is None else Answer(text, thought="", kept=text, dropped=parsed.dropped)


def _with_refusal(parsed: Parsed, reply: Reply) -> Parsed:
    """Adds the `refusal` field to the reason: a model that declines sends it with an empty text."""
    said = reply.message.get("refusal")
    if not isinstance(parsed, Malformed) or reply.text.strip() or not isinstance(said, str) or said in parsed.reason:
        return parsed
    return replace(parsed, reason=f"The model refused: {said} {parsed.reason}")


def _event(
    reply: Reply, parsed: Parsed, config: RunConfig, tools: Sequence[Tool], past: History
) -> tuple[ThinkEvent, str, str | None]:
    if isinstance(parsed, Answer):
        return Answered(parsed.text), "answer", None
    if isinstance(parsed, Actions):
        known = {tool.name: tool for tool in tools}
        gated = frozenset(config.approve)
        calls = tuple(_call(request, known, gated) for request in parsed.calls)
        loop = looping(past.turns, [(call.tool, call.args) for call in calls])
        return Acted(calls, parsed.thought or parsed.kept, loop), "actions", None
    cut = ending_of(reply.finish_reason) == Ending.LENGTH
    if cut and _says_nothing(reply, parsed):
        return UsedUp(), "malformed", parsed.reason
    words = parsed.kept or parsed.thought
    return Unreadable(words, cut and _cut_before(past.turns), parsed.reason), "malformed", parsed.reason


def _cut_before(turns: Sequence[Turn]) -> bool:
    """Returns whether the output limit cut off every unreadable reply at the end of the history."""
    return all(turn.cut for turn in takewhile(lambda turn: not turn.calls, reversed(turns)))


def _says_nothing(reply: Reply, parsed: Malformed) -> bool:
    """Returns whether a reply without its thinking has neither words nor a call."""
    return not (parsed.kept.strip() or parsed.thought.strip() or reply.message.get("tool_calls"))


def _call(request: ToolRequest, known: Mapping[str, Tool], gated: frozenset[str]) -> NewCall:
    """Returns a call to enqueue, or one that is answered at once because the model has to correct it."""
    shown = request.args if isinstance(request.args, dict) else {"input": request.args}
    tool = known.get(request.tool)
    if tool is None:
        names = ", ".join(known) or "none"
        return NewCall(request.tool, shown, "", request.call_id, f"There is no tool {request.tool!r}. Tools: {names}.")
    args = bind(request, tool)
    if isinstance(args, Unbound):
        return NewCall(tool.name, shown, tool.queue, request.call_id, args.reason)
    try:
        held = "answer" if tool.name == ASK_PERSON else "approval" if tool.name in gated else None
        return NewCall(tool.name, tool.validate(args), tool.queue, request.call_id, held=held)
    except BadArguments as error:
        return NewCall(tool.name, args, tool.queue, request.call_id, error.message)
