"""`react_text`: Thought, Action, Action Input as plain text; the answer after `Final Answer:`."""

from __future__ import annotations

from collections.abc import Sequence

from worker.core.records import Parsed, Reply, ToolRequest, ToolView
from worker.dialects.parsing.inputs import plain_input
from worker.dialects.parsing.labelled import Grammar, Outcome, read_labelled
from worker.dialects.parsing.named_action import blob, named_action
from worker.dialects.parsing.page import Page
from worker.dialects.parsing.plain import as_json, single_text
from worker.dialects.parsing.schema_text import list_tools
from worker.dialects.parsing.text import TextDialect, reads_back

_FORM = (
    "Write either `Thought:`, `Action:` with the name of one tool and `Action Input:` with its input, "
    "or `Thought:` and `Final Answer:`."
)
_INSTRUCTIONS = """\
You have these tools:

{tools}

Reply in one of two forms and in no other.

To use a tool:

Thought: what you need next and why
Action: the name of one tool, exactly as listed
Action Input: the input as plain text, without quotes around it

A tool with several parameters takes them as one JSON object; a tool without parameters takes the word none.{code}
Stop after the input. The next message then brings the result, beginning with `Observation:`.

To finish:

Thought: why you know the answer
Final Answer: the complete answer

One example, with a tool that is made up for it:

Thought: The price per night is in the hotel list, so I look it up.
Action: example_lookup
Action Input: hotel price

(then you are told `Observation: <result>80 euros a night</result>`, and you reply)

Thought: Three nights cost 3 times 80 euros.
Final Answer: Three nights cost 240 euros."""

_CODE = "\nA program stands in a fenced block, so that its end is plain."


class ReactText(TextDialect):
    """The classic form."""

    name = "react_text"
    final = "Final Answer:"

    def instructions(self, tools: Sequence[ToolView]) -> str:
        code = _CODE if any(tool.code_language for tool in tools) else ""
        return _INSTRUCTIONS.format(tools=list_tools(tools), code=code)

    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        return read_labelled(reply, tools, _GRAMMAR)

    def write_call(self, request: ToolRequest) -> str:
        text = single_text(request.args)
        if text is not None:
            plain = _call(request.tool, text)
            if reads_back(self, plain, request):
                return plain
        return _call(request.tool, as_json(request.args) if request.args else "none")


def _call(tool: str, written: str) -> str:
    return f"Action: {tool}\nAction Input: {written}"


def _bare(page: Page) -> Outcome | None:
    """Reads a reply that is one JSON object with an action in it."""
    at = len(page.text) - len(page.text.lstrip())
    return blob(page, at, at) if page.text[at : at + 1] in ("{", "`") else None


_GRAMMAR = Grammar(lambda page, label: named_action(page, label, plain_input), _bare, _FORM)
