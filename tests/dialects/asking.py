"""What tests of all dialects share: a text as an answer of each, and a reply read with the tools of `outcomes`."""

from __future__ import annotations

import json

from tests.dialects.outcomes import TOOLS
from worker.core.records import Actions, Answer, Malformed, Reply
from worker.dialects import dialect


def labelled(name: str, text: str) -> str:
    """The text as the answer of a dialect."""
    if name == "native":
        return text
    if name == "json":
        return json.dumps({"type": "answer", "content": text})
    return f"Thought: t\nAction: Finish[{text}]" if name == "react_call" else f"Thought: t\nFinal Answer: {text}"


def parse(name: str, text: str) -> Actions | Answer | Malformed:
    return dialect(name).parse(Reply(text, None, {"role": "assistant", "content": text}), list(TOOLS.values()))
