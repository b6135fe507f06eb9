"""Finds an answer written in another dialect's form: `Final Answer:`, or an agent's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.core.records import ToolView
from worker.dialects.parsing.fences import unwrap_whole
from worker.dialects.parsing.labels import Kind, find_labels
from worker.dialects.parsing.named_objects import ARGS_KEYS, NAME_KEYS, strict_json
from worker.dialects.parsing.names import says_final

_CONTENT_KEYS = ARGS_KEYS | {"content", "answer", "final_answer", "text"}


@dataclass(frozen=True, slots=True)
class Enveloped:
    """The answer alone, and the thought before it."""

    text: str
    thought: str


def enveloped_answer(text: str, tools: Sequence[ToolView]) -> Enveloped | None:
    """Returns the answer if the whole text is in one such form; else None.

    `Answer:` without a thought before it does not count: the question may have asked for that label.
    """
    return _labelled(text) or _in_object(text, tools)


def _labelled(text: str) -> Enveloped | None:
    labels = find_labels(text)
    kinds = [label.kind for label in labels]
    if kinds != [Kind.THOUGHT, Kind.ANSWER] or labels[0].start != 0:
        return None
    thought, answer = text[labels[0].end : labels[1].start].strip(), text[labels[1].end :].strip()
    return Enveloped(answer, thought) if answer else None


def _in_object(text: str, tools: Sequence[ToolView]) -> Enveloped | None:
    """Reads `{"action": "Final Answer", "action_input": "…"}`, also in a fence."""
    body = unwrap_whole(text)
    value = strict_json(body, 0, len(body)) if body.startswith("{") else None
    if not isinstance(value, dict):
        return None
    names = [key for key in value if key in NAME_KEYS and isinstance(value[key], str) and says_final(value[key], tools)]
    contents = [inner for key, inner in value.items() if key in _CONTENT_KEYS and isinstance(inner, str)]
    thought = value.get("thought", "")
    whole = len(names) == 1 and len(contents) == 1 and set(value) <= {names[0], "thought", *_CONTENT_KEYS}
    if not whole or not contents[0].strip() or not isinstance(thought, str):
        return None
    return Enveloped(contents[0].strip(), thought)
