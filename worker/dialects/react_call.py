"""`react_call`: `Action: tool(name="value", n=3)`; the answer as `Action: Finish[…]`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from worker.core.records import Parsed, Reply, ToolRequest, ToolView
from worker.dialects.parsing.arguments import Refused
from worker.dialects.parsing.calls import read_call
from worker.dialects.parsing.fences import fence_at
from worker.dialects.parsing.finish import FINISH_COLON, finish, finish_colon
from worker.dialects.parsing.inputs import json_input
from worker.dialects.parsing.labelled import Bad, Call, Grammar, Outcome, read_labelled
from worker.dialects.parsing.labels import Kind, Label
from worker.dialects.parsing.named_action import named_action
from worker.dialects.parsing.names import find_tool, says_final
from worker.dialects.parsing.page import AFTER_INPUT, Page
from worker.dialects.parsing.schema_text import list_tools
from worker.dialects.parsing.text import TextDialect

_FORM = 'Write either `Thought:` and `Action: tool(name="value")`, or `Thought:` and `Action: Finish[the answer]`.'
_INSTRUCTIONS = """\
You have these tools:

{tools}

Each reply is one thought and one action, and nothing else.

To use a tool:

Thought: what you need next and why
Action: tool(name="value", count=3)

`tool` is a name exactly as listed; each argument is written as name=value, text in double quotes with \\n for a line
break. Stop after the closing parenthesis. The next message then brings the result, beginning with `Observation:`.

To finish:

Thought: why you know the answer
Action: Finish[the complete answer]

One example, with a tool that is made up for it:

Thought: The price per night is in the hotel list, so I look it up.
Action: example_lookup(topic="hotel price")

(then you are told `Observation: <result>80 euros a night</result>`, and you reply)

Thought: Three nights cost 3 times 80 euros.
Action: Finish[Three nights cost 240 euros.]"""
_NAME = r"[`*_\"'@]{0,4}(?P<name>[^\W\d][\w.\-\\:/]{0,63}|[Ff]inal [Aa]nswer)[`*_\"']{0,4}[ \t]*"
_OPENS = re.compile(r"[ \t\r\n]*" + _NAME + r"(?P<open>[(（\[{])")
_OPENS_LINE = re.compile(r"(?<![^\n])[ \t`]{0,20}" + _NAME + r"(?P<open>[(（\[])")


class ReactCall(TextDialect):
    """Actions as function calls."""

    name = "react_call"
    final = "Action: Finish"

    def instructions(self, tools: Sequence[ToolView]) -> str:
        return _INSTRUCTIONS.format(tools=list_tools(tools))

    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        return read_labelled(reply, tools, _GRAMMAR)

    def write_call(self, request: ToolRequest) -> str:
        if isinstance(request.args, str):
            return f"Action: {request.tool}({_literal(request.args)})"
        if not all(re.fullmatch(r"[^\W\d]\w*", name) for name in request.args):
            return f"Action: {request.tool}({_literal(request.args)})"
        written = ", ".join(f"{name}={_literal(value)}" for name, value in request.args.items())
        return f"Action: {request.tool}({written})"

    def write_answer(self, answer: str) -> str:
        return f"{self.final}[{answer}]"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _action(page: Page, label: Label) -> Outcome | None:
    at = label.end
    fence = fence_at(page.text, at)
    if fence is not None:
        at = fence.body_start
    opening = _OPENS.match(page.text, at)
    following = next(page.labels.after(label.end), None)
    has_input = following is not None and following.kind in (Kind.INPUT, Kind.WEAK_INPUT)
    colon = FINISH_COLON.match(page.text, at)
    if colon is not None and not has_input:
        return finish_colon(page, label.start, colon.end())
    if opening is None or has_input:
        return named_action(page, label, json_input)
    return _opened(page, opening, label.start)


def _opened(page: Page, opening: re.Match[str], start: int) -> Outcome | None:
    name, mark = opening.group("name"), opening.group("open")
    if says_final(name, page.tools):
        return finish(page, opening, start)
    named = find_tool(name, page.tools)
    if named is None:
        return Bad("The action must begin with the name of one tool.")
    if mark == "[":
        return Bad(f'Arguments stand in parentheses: {named.name}(name="value").') if named.tool else None
    if mark == "{":
        given = json_input(page, opening.end() - 1, named.tool)
    else:
        limit = page.value_end(opening.end(), AFTER_INPUT)
        given = read_call(page.text, opening.end(), named.tool, page.tools, went_on=page.finished)
        if isinstance(given, Refused) and limit < len(page.text):
            given = read_call(page.text[:limit].rstrip(), opening.end(), named.tool, page.tools, went_on=True)
    if isinstance(given, Refused):
        return Bad(given.reason)
    args = given.args
    if isinstance(args, str) and named.tool is not None and named.tool.text_parameter is not None:
        args = {named.tool.text_parameter: args}
    return Call(ToolRequest(named.name, args), start, given.end)


def _bare(page: Page) -> Outcome | None:
    """Reads a call or `Finish[…]` on its own line, without its label."""
    for opening in _OPENS_LINE.finditer(page.text):
        named = find_tool(opening.group("name"), page.tools)
        known = named is not None and named.tool is not None and opening.group("open") != "["
        if known or (says_final(opening.group("name"), page.tools) and opening.group("name").lower() != "answer"):
            return _opened(page, opening, opening.start())
    return None


_GRAMMAR = Grammar(_action, _bare, _FORM)
