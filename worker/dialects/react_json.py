"""`react_json`: Thought, Action, Action Input as a JSON object; the answer after `Answer:`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from worker.core.records import Parsed, Reply, ToolRequest, ToolView
from worker.dialects.parsing.inputs import json_input
from worker.dialects.parsing.labelled import Grammar, Outcome, read_labelled
from worker.dialects.parsing.named_action import blob, named_action
from worker.dialects.parsing.page import Page
from worker.dialects.parsing.schema_text import list_tools
from worker.dialects.parsing.text import TextDialect

_FORM = (
    "Write either `Thought:`, `Action:` with the name of one tool and `Action Input:` with one JSON object, "
    "or `Thought:` and `Answer:`."
)
_INSTRUCTIONS = """\
You have these tools:

{tools}

Reply in one of two forms and in no other.

To use a tool:

Thought: what you need next and why
Action: the name of one tool, exactly as listed
Action Input: {{"parameter": "value"}}

The input is one JSON object with the tool's parameters, {{}} for none: double quotes, line breaks in strings as
\\n.{code}
Stop after the input. The next message then brings the result, beginning with `Observation:`.

To finish:

Thought: why you know the answer
Answer: the complete answer

One example, with a tool that is made up for it:

Thought: The price per night is in the hotel list, so I look it up.
Action: example_lookup
Action Input: {{"topic": "hotel price"}}

(then you are told `Observation: <result>80 euros a night</result>`, and you reply)

Thought: Three nights cost 3 times 80 euros.
Answer: Three nights cost 240 euros."""
_CODE = """
A tool that takes a program may get it as a fenced block instead, so that nothing has to be escaped:
Action Input: ```python
print("hello")
```"""


class ReactJson(TextDialect):
    """The default dialect."""

    name = "react_json"
    final = "Answer:"

    def instructions(self, tools: Sequence[ToolView]) -> str:
        code = _CODE if any(tool.code_language for tool in tools) else ""
        return _INSTRUCTIONS.format(tools=list_tools(tools), code=code)

    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        return read_labelled(reply, tools, _GRAMMAR)

    def write_call(self, request: ToolRequest) -> str:
        args = request.args if isinstance(request.args, dict) else {"input": request.args}
        return f"Action: {request.tool}\nAction Input: {json.dumps(args, ensure_ascii=False)}"


def _bare(page: Page) -> Outcome | None:
    """Reads a reply that is one JSON object with an action in it."""
    at = len(page.text) - len(page.text.lstrip())
    return blob(page, at, at) if page.text[at : at + 1] in ("{", "`") else None


_GRAMMAR = Grammar(lambda page, label: named_action(page, label, json_input), _bare, _FORM)
