"""`react_brackets`: `Action: tool[[input]]` on one line; the answer after `Final Answer:`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from worker.core.records import JsonObject, Parsed, Reply, ToolRequest, ToolView
from worker.dialects.parsing.arguments import Refused
from worker.dialects.parsing.brackets import TwoReadings, closing
from worker.dialects.parsing.inputs import bracketed_input, plain_input
from worker.dialects.parsing.labelled import Bad, Call, Grammar, Outcome, Said, read_labelled
from worker.dialects.parsing.labels import Kind, Label
from worker.dialects.parsing.named_action import named_action
from worker.dialects.parsing.names import find_tool, says_final, says_none
from worker.dialects.parsing.page import Page
from worker.dialects.parsing.plain import single_text
from worker.dialects.parsing.schema_text import list_tools
from worker.dialects.parsing.text import TextDialect, reads_back

_FORM = "Write either `Thought:` and `Action: tool[[input]]`, or `Thought:` and `Final Answer:`."
_INSTRUCTIONS = """\
You have these tools:

{tools}

Reply in one of two forms and in no other.

To use a tool:

Thought: what you need next and why
Action: tool[[input]]

`tool` is a name exactly as listed, `input` its input as plain text without quotes around it. A tool with several
parameters takes them as one JSON object between the brackets; a tool without parameters takes nothing there.
Stop after the closing brackets. The next message then brings the result, beginning with `Observation:`.

To finish:

Thought: why you know the answer
Final Answer: the complete answer

One example, with a tool that is made up for it:

Thought: The price per night is in the hotel list, so I look it up.
Action: example_lookup[[hotel price]]

(then you are told `Observation: <result>80 euros a night</result>`, and you reply)

Thought: Three nights cost 3 times 80 euros.
Final Answer: Three nights cost 240 euros."""
_NAME = r"[`*_\"'@(]{0,4}(?P<name>[^\W\d][\w.\-\\]{0,63}(?: [\w\-]{1,30}){0,2})[`*_\"']{0,4}[ \t]*[:：]?[ \t]*"
_OPENS = re.compile(r"[ \t\r\n]*" + _NAME + r"(?P<open>\[\[?)")
_OPENS_LINE = re.compile(r"(?<![^\n])[ \t]{0,20}" + _NAME + r"(?P<open>\[\[)")


class ReactBrackets(TextDialect):
    """The shortest form."""

    name = "react_brackets"
    final = "Final Answer:"

    def instructions(self, tools: Sequence[ToolView]) -> str:
        return _INSTRUCTIONS.format(tools=list_tools(tools))

    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        return read_labelled(reply, tools, _GRAMMAR)

    def write_call(self, request: ToolRequest) -> str:
        text = single_text(request.args)
        if text is not None:
            plain = f"Action: {request.tool}[[{text}]]"
            if reads_back(self, plain, request):
                return plain
        return f"Action: {request.tool}[[{_escaped(request.args)}]]"


def _escaped(args: JsonObject | str) -> str:
    """Returns JSON without brackets in its strings, so that none can close the input."""
    if not args:
        return ""
    value = args if isinstance(args, dict) else {"input": args}
    strings = re.compile(r'"(?:\\.|[^"\\])*"')
    return strings.sub(
        lambda match: match.group().replace("[", "\\u005b").replace("]", "\\u005d"),
        json.dumps(value, ensure_ascii=False),
    )


def _action(page: Page, label: Label) -> Outcome | None:
    opening = _OPENS.match(page.text, label.end)
    if opening is None:
        return named_action(page, label, plain_input)
    following = next(page.labels.after(label.end), None)
    if len(opening.group("open")) == 1 and following is not None and following.kind is Kind.INPUT:
        return named_action(page, label, plain_input)
    return _call(page, opening, label.start)


def _call(page: Page, opening: re.Match[str], start: int) -> Outcome | None:
    name, width = opening.group("name"), len(opening.group("open"))
    if says_none(name):
        return None
    try:
        end = _closing(page, opening.end(), width, _takes_code(page, name))
    except TwoReadings:
        return Bad("Brackets in the input make its end unclear; give it as a JSON object with \\u005d for a bracket.")
    if end is None:
        return Bad(f"The input of {name} is not closed by {']' * width}.")
    text = page.text[opening.end() : end]
    if says_final(name, page.tools):
        return Said(text.strip(), start, end + width) if text.strip() else Bad("The answer is empty.")
    named = find_tool(name, page.tools)
    if named is None or (width == 1 and named.tool is None):
        return Bad("The action must begin with the name of one tool.")
    given = bracketed_input(text, named.tool, end + width)
    if isinstance(given, Refused):
        return Bad(given.reason)
    return Call(ToolRequest(named.name, given.args), start, given.end)


def _closing(page: Page, start: int, width: int, code: bool) -> int | None:
    """Searches the action's own lines; a program may contain label words, so for code it searches beyond them."""
    limit = page.value_end(start)
    end = closing(page.text[:limit], start, width)
    return closing(page.text, start, width) if end is None and code else end


def _takes_code(page: Page, name: str) -> bool:
    named = find_tool(name, page.tools)
    return named is not None and named.tool is not None and named.tool.code_language is not None


def _bare(page: Page) -> Outcome | None:
    """Reads a call on its own line, without its label."""
    for opening in _OPENS_LINE.finditer(page.text):
        named = find_tool(opening.group("name"), page.tools)
        if (named is not None and named.tool is not None) or says_final(opening.group("name"), page.tools):
            return _call(page, opening, opening.start())
    return None


_GRAMMAR = Grammar(_action, _bare, _FORM)
