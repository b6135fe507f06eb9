"""`json`: each reply is one JSON object, a tool call or an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from worker.core.records import Actions, Answer, JsonObject, Malformed, Parsed, Reply, ToolRequest, ToolView
from worker.dialects.parsing.arguments import Given, Refused, as_arguments, nothing_given
from worker.dialects.parsing.call_markup import markup_start
from worker.dialects.parsing.cut import MAX_KEPT_CHARS, UNREAD, cut_short, ended_itself, unread_call, with_its_call
from worker.dialects.parsing.json_finder import Found, find_objects, real, with_plain_keys
from worker.dialects.parsing.leaked import MARKUP, Leaked, marked_calls, only_markup
from worker.dialects.parsing.names import find_tool, says_final, says_none
from worker.dialects.parsing.page import claims_result
from worker.dialects.parsing.reasoning import without_reasoning
from worker.dialects.parsing.repeats import REPEATS_ITSELF, repeats_itself
from worker.dialects.parsing.schema_text import list_tools
from worker.dialects.parsing.text import TextDialect
from worker.dialects.parsing.tidy import tidy
from worker.dialects.parsing.unmarked import answers_with_call

_FORM = (
    'Reply with one JSON object: {"type": "tool_call", "tool_name": "…", "tool_args": {…}} or '
    '{"type": "answer", "content": "…"}.'
)
_INSTRUCTIONS = """\
You have these tools:

{tools}

Each reply is exactly one JSON object of one of these two forms, with nothing before or behind it.

To use a tool:

{{"type": "tool_call", "thought": "what you need and why", "tool_name": "name", "tool_args": {{"parameter": "value"}}}}

`tool_name` is a name exactly as listed, `tool_args` an object with the tool's parameters. Write line breaks in strings
as \\n. The next message then brings the result, beginning with `Observation:`.

To finish:

{{"type": "answer", "content": "the complete answer"}}

One example, with a tool that is made up for it:

{{"type": "tool_call", "thought": "It is listed.", "tool_name": "example_lookup", "tool_args": {{"topic": "price"}}}}

(then you are told `Observation: <result>80 euros a night</result>`, and you reply)

{{"type": "answer", "content": "Three nights cost 240 euros."}}"""
_CALL_TYPES = frozenset({"tool_call", "toolcall", "function_call", "function", "tool_use", "tool", "action", "call"})
_ANSWER_TYPES = frozenset({"answer", "final_answer", "finalanswer", "final", "finish", "response"})
_RESULT_TYPES = frozenset({"tool_result", "tool_response", "observation", "result", "function_result", "tool_output"})
_NAMES = ("tool_name", "tool", "name", "function_name", "action", "function")
_ARGS = (
    "tool_args",
    "tool_input",
    "tool_arguments",
    "arguments",
    "args",
    "parameters",
    "params",
    "action_input",
    "input",
)
_CONTENTS = ("content", "answer", "final_answer", "text", "response", "output")


class JsonObjects(TextDialect):
    """For endpoints with a JSON mode."""

    name = "json"
    final = ""
    stop = ("\nObservation:",)

    def instructions(self, tools: Sequence[ToolView]) -> str:
        return _INSTRUCTIONS.format(tools=list_tools(tools))

    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        tidied = tidy(reply.text)
        cut = cut_short(reply)
        found = cut or find_objects(tidied.text, _kind, finished=ended_itself(reply))
        read = found if isinstance(found, str) else _read(tidied.text, real(tidied.text, found), tools)
        outcome = cut or _without_markup(tidied.text, read, tools)
        if unread_call(reply) and _is_own(outcome):
            outcome = UNREAD
        if isinstance(outcome, Leaked):
            return Actions(outcome.calls[:1], outcome.thought, "", (*tidied.dropped, MARKUP))
        if isinstance(outcome, str):
            reason = "The reply is empty." if not tidied.text and not cut else outcome
            return Malformed(f"{reason} {_FORM}", kept=tidied.text[:MAX_KEPT_CHARS], dropped=tidied.dropped)
        parsed, first = outcome
        kept = tidied.text[: first.end].strip()
        dropped = (*tidied.dropped, *_rest(tidied.text[first.end :]))
        if isinstance(parsed, Answer):
            answer = Answer(parsed.text, parsed.thought or first.before, kept, dropped)
            return with_its_call(answer, reply, _FORM)
        return Actions(parsed.calls, parsed.thought or first.before, kept, dropped)

    def write_call(self, request: ToolRequest) -> str:
        return self._object({"type": "tool_call", "tool_name": request.tool, "tool_args": request.args})

    def write_answer(self, answer: str) -> str:
        return self._object({"type": "answer", "content": answer})

    def write(self, thought: str, body: str) -> str:
        if not thought:
            return body
        return self._object({**json.loads(body), "thought": thought})

    def _object(self, value: JsonObject) -> str:
        first = {key: value[key] for key in ("type", "thought") if key in value}
        return json.dumps({**first, **value}, ensure_ascii=False)


def _without_markup(
    text: str, outcome: tuple[Actions | Answer, Found] | str, tools: Sequence[ToolView]
) -> tuple[Actions | Answer, Found] | Leaked | str:
    """Returns the outcome if no stray tool call markup is there; else the call in the markup, or why it is unclear."""
    if isinstance(outcome, str):
        return marked_calls(text, tools) or outcome
    parsed, first = outcome
    start = markup_start(text, tools)
    before = start if start is not None and start < first.begin else None
    if isinstance(parsed, Actions):
        leaked = marked_calls(text, tools) if before is not None else None
        if isinstance(leaked, Leaked):
            return leaked
        names_another = before is not None and "=" in text[before : first.begin]
        wrapped = before is None or (only_markup(text, before, first.begin, tools) and not names_another)
        written = parsed.calls[0].args
        inside = isinstance(written, str) and markup_start(written, tools) == 0
        return outcome if wrapped and not inside else "The reply holds a tool call in markup of its own."
    if repeats_itself(parsed.text):
        return REPEATS_ITSELF
    inside_answer = marked_calls(parsed.text, tools)
    if inside_answer is None and answers_with_call(parsed.text, tools):
        return "The answer is a tool call. Write it as one."
    if inside_answer is None and before is None and markup_start(text[first.end :], tools) is None:
        return outcome
    if isinstance(inside_answer, Leaked) and before is None and not inside_answer.thought:
        return inside_answer
    return "The answer holds a tool call in markup of its own. Write one of them, without markup."


def _is_own(outcome: tuple[Actions | Answer, Found] | Leaked | str) -> bool:
    """Whether the outcome is an action in this dialect's own form, not in a call format of the model's own."""
    return isinstance(outcome, tuple) and isinstance(outcome[0], Actions) and "tool_name" in outcome[1].value


def _rest(text: str) -> tuple[str, ...]:
    rest = text.strip(" \t\r\n`]")
    return (f"what followed: {rest[:200]}",) if rest else ()


def _kind(value: JsonObject) -> str | None:
    """Returns `call`, `answer` or `result`; `both` if the object contradicts itself, None for any other object."""
    value = with_plain_keys(value)
    written = str(value.get("type") or "").lower().replace("-", "_").replace(" ", "_")
    if written in _RESULT_TYPES:
        return "result"
    name = _first(value, _NAMES)
    names_tool = (isinstance(name, str) and name.strip() != "") or isinstance(name, dict)
    if written in _ANSWER_TYPES:
        return "both" if names_tool and "tool_name" in value and value.get("tool_args") else "answer"
    if written in _CALL_TYPES:
        return "call"
    if written:
        return None
    has_args = any(key in value for key in _ARGS)
    if names_tool and (has_args or isinstance(name, dict) or "tool_name" in value):
        return "both" if "answer" in value or "final_answer" in value else "call"
    only = [key for key in value if value[key] is not None and key not in ("thought", "thoughts", "reasoning")]
    return "answer" if len(only) == 1 and only[0] in ("answer", "final_answer") and not names_tool else None


def _read(text: str, found: list[Found], tools: Sequence[ToolView]) -> tuple[Actions | Answer, Found] | str:
    """Returns the first object unless what follows contradicts it; else the reason."""
    if not found:
        return "Observations come from the tools. Never write one yourself."
    kinds = [_kind(item.value) for item in found]
    if kinds[0] == "result":
        return "Results come from the tools. Never write one yourself."
    if kinds[0] == "both":
        return "The object holds a tool call and an answer. Write one of them."
    other = next((at for at, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None and kinds[other] != "result":
        between = text[found[0].end : found[other].begin]
        if kinds[0] != "call" or not (claims_result(between) or "{" in between):
            return "The reply holds a tool call and an answer. Write one of them."
    if kinds[0] == "answer":
        texts = [_content(item.value) for item, kind in zip(found, kinds, strict=True) if kind == "answer"]
        if "result" not in kinds and any(text != texts[0] for text in texts):
            return "The reply holds two different answers. Write one."
        return (Answer(texts[0], _thought(found[0].value), ""), found[0]) if texts[0] else "The answer is empty."
    name = _first(found[0].value, _NAMES)
    if isinstance(name, str) and says_none(name):
        return "The object names no tool."
    if isinstance(name, str) and says_final(name, tools):
        return _final(found[0])
    call = _call(found[0].value, tools)
    return call if isinstance(call, str) else (Actions((call,), _thought(found[0].value), ""), found[0])


def _final(found: Found) -> tuple[Answer, Found] | str:
    """Reads an answer that is written as a call of a tool named Final Answer."""
    given = _first(found.value, _ARGS)
    text = _content(given) if isinstance(given, dict) else given
    if not isinstance(text, str) or not text.strip():
        return "The answer is empty."
    return Answer(text.strip(), _thought(found.value), ""), found


def _call(value: JsonObject, tools: Sequence[ToolView]) -> ToolRequest | str:
    name = _first(value, _NAMES)
    if isinstance(name, dict):
        return _call(name, tools)
    if not isinstance(name, str) or not name.strip():
        return "The name of the tool is missing."
    named = find_tool(name, tools)
    if named is None:
        return "tool_name must hold the name of one tool."
    given = _first(value, _ARGS)
    if given is None or given in ("", []):
        args: JsonObject | str | Refused | Given = nothing_given(named.tool, 0)
    else:
        args = as_arguments(given, named.tool)
    if isinstance(args, Refused):
        return args.reason
    return ToolRequest(named.name, args.args if isinstance(args, Given) else args)


def _content(value: JsonObject) -> str:
    content = _first(value, _CONTENTS)
    if content is None or content == "":
        return ""
    if isinstance(content, str):
        thinks = content.lstrip().startswith(("<", "[", "◁")) and not content.lstrip().startswith("</")
        return (without_reasoning(content)[0] if thinks else content).strip()
    return json.dumps(content, ensure_ascii=False)


def _thought(value: JsonObject) -> str:
    thought = _first(value, ("thought", "thoughts", "reasoning"))
    return thought.strip() if isinstance(thought, str) else ""


def _first(value: JsonObject, keys: Sequence[str]) -> object:
    value = with_plain_keys(value)
    return next((value[key] for key in keys if value.get(key) is not None), None)
