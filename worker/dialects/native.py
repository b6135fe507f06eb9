"""`native`: the chat API's own tool calls, several at once; a message without calls is the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from worker.core.provider_extras import tied_id, with_extra
from worker.core.records import (
    Actions,
    Answer,
    Example,
    JsonObject,
    Malformed,
    Message,
    Observed,
    Parsed,
    Reply,
    ToolView,
    Turn,
)
from worker.dialects.parsing.cut import MAX_KEPT_CHARS, cut_short, with_its_call
from worker.dialects.parsing.envelopes import enveloped_answer
from worker.dialects.parsing.leaked import MARKUP, leaked_calls
from worker.dialects.parsing.native_calls import requested
from worker.dialects.parsing.repeats import REPEATS_ITSELF, repeats_itself
from worker.dialects.parsing.text import NOTHING_SAID, observed, spoken
from worker.dialects.parsing.tidy import tidy

_FORM = "Call a tool through the API's tool calls, or reply with the complete answer as text."
_INSTRUCTIONS = """\
Use the tools that you are given by calling them; independent calls may be made together in one step. Wait for the
results before you go on. Before a call you may say in a sentence what you need and why.

When you know the answer, reply with it as plain text and without a tool call."""


class Native:
    """For endpoints that support tool calls."""

    name = "native"
    stop: tuple[str, ...] = ()

    def instructions(self, tools: Sequence[ToolView]) -> str:
        return _INSTRUCTIONS if tools else "Reply with the complete answer as plain text."

    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        content = _content(reply)
        tidied = tidy(content)
        found = cut_short(reply) or requested(reply.message, tools)
        if isinstance(found, str):
            kept = tidied.text[:MAX_KEPT_CHARS]
            return Malformed(f"{found} {_FORM}", kept=kept, thought=tidied.text, dropped=tidied.dropped)
        if not found.calls:
            return with_its_call(_without_calls(reply, tidied.text, tidied.dropped, tools), reply, _FORM)
        return Actions(found.calls, tidied.text, tidied.text, (*tidied.dropped, *found.dropped))

    def transcript(self, turn: Turn) -> list[Message]:
        if not turn.calls:
            said: Message = {"role": "assistant", "content": spoken(turn.kept, turn.answer) or NOTHING_SAID}
            notice: list[Message] = [{"role": "user", "content": turn.notice}] if turn.notice else []
            return [with_extra(said, turn.extra), *notice]
        calls = [_call(call, turn) for call in turn.calls]
        acting = {"role": "assistant", "content": spoken(turn.kept, turn.thought), "tool_calls": calls}
        seen: list[Message] = [{"role": "tool", "tool_call_id": "", "content": observed(call)} for call in turn.calls]
        if turn.notice:  # after a tool result only the assistant may speak
            seen[-1]["content"] += f"\n\n{turn.notice}"
        return [with_extra(acting, turn.extra), *seen]

    def example(self, example: Example) -> list[Message]:
        messages: list[Message] = [{"role": "user", "content": example.question}]
        for turn in example.turns:
            messages += self.transcript(turn)
        return [*messages, {"role": "assistant", "content": example.answer}]

    def request(self, tools: Sequence[ToolView]) -> JsonObject:
        if not tools:
            return {}
        return {"tools": [_definition(tool) for tool in tools]}


def _definition(tool: ToolView) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _call(call: Observed, turn: Turn) -> JsonObject:
    """Returns the call as it was made. Without an id that must go back unchanged, `prompt.messages` gives it one."""
    arguments = json.dumps(call.args, ensure_ascii=False)
    known = {"id": tied_id(call.call_id, turn.extra, call.extra) or "", "type": "function"}
    return with_extra({**known, "function": {"name": call.tool, "arguments": arguments}}, call.extra)


def _content(reply: Reply) -> str:
    """Returns the message's text; some endpoints send it in parts."""
    content = reply.message.get("content", reply.text)
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") != "thinking"]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else reply.text


def _without_calls(reply: Reply, text: str, dropped: tuple[str, ...], tools: Sequence[ToolView]) -> Parsed:
    leaked = leaked_calls(text, tools)
    if isinstance(leaked, str):
        return Malformed(f"{leaked} {_FORM}", kept=text[:MAX_KEPT_CHARS], thought=text, dropped=dropped)
    if leaked is not None:
        return Actions(leaked.calls, leaked.thought, leaked.thought, (*dropped, MARKUP))
    if repeats_itself(text):
        return Malformed(f"{REPEATS_ITSELF} {_FORM}", kept=text[:MAX_KEPT_CHARS], dropped=dropped)
    if not text:
        refused = reply.message.get("refusal")
        reason = f"The model refused: {refused}" if refused else "The reply holds neither text nor a tool call."
        return Malformed(f"{reason} {_FORM}", kept="", dropped=dropped)
    enveloped = enveloped_answer(text, tools)
    if enveloped is not None:
        return Answer(enveloped.text, enveloped.thought, text, (*dropped, "what stood around the answer"))
    return Answer(text, "", text, dropped)
