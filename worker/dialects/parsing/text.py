"""The common part of the text dialects: how steps and examples become chat messages."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worker.core.provider_extras import with_extra
from worker.core.records import (
    Actions,
    Example,
    JsonObject,
    Message,
    Observed,
    Parsed,
    Reply,
    ToolRequest,
    ToolView,
    Turn,
)
from worker.dialects.parsing.plain import single_text

NOTHING_SAID = "(empty reply)"
"""History shows this for an empty reply: endpoints refuse empty messages."""
NOTHING_SEEN = "(empty result)"
"""History shows this for an empty tool result."""


RESULT, RESULT_ENDS = "<result>", "</result>"
"""Marks around a tool's result, which is data; the rules in the system prompt say so."""
_ENDS = re.compile(r"<(?=\s*/\s*result\b)", re.IGNORECASE)


class TextDialect(ABC):
    """Actions and answers as text; observations come back as messages of the user."""

    name: str
    stop: tuple[str, ...] = ("\nObservation:",)
    final: str
    """The label before an answer."""

    @abstractmethod
    def instructions(self, tools: Sequence[ToolView]) -> str:
        """Returns the tools and the format rules."""

    @abstractmethod
    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        """Parses a reply; never raises, never guesses between two readings."""

    @abstractmethod
    def write_call(self, request: ToolRequest) -> str:
        """Writes a tool call as a model should."""

    def write_answer(self, answer: str) -> str:
        """Writes an answer as a model should."""
        return f"{self.final} {answer}"

    def write(self, thought: str, body: str) -> str:
        """Writes a whole reply."""
        return f"Thought: {thought}\n{body}" if thought else body

    def transcript(self, turn: Turn) -> list[Message]:
        """Returns a finished step as messages; one pair per call, since a reply holds one."""
        if not turn.calls:
            return self._without_calls(turn)
        messages: list[Message] = []
        for index, call in enumerate(turn.calls):
            thought = turn.thought if index == 0 else ""
            written = self.write(thought, self.write_call(ToolRequest(call.tool, call.args)))
            said = spoken(turn.kept) if len(turn.calls) == 1 else None
            messages += [_assistant(said or written), _user(f"Observation: {observed(call)}")]
        messages[0] = with_extra(messages[0], turn.extra)
        if turn.notice:
            messages[-1]["content"] += f"\n\n{turn.notice}"
        return messages

    def example(self, example: Example) -> list[Message]:
        """Returns the example's messages: the question, each step, and the answer."""
        messages = [_user(example.question)]
        for turn in example.turns:
            messages += self.transcript(turn)
        return [*messages, _assistant(self.write(example.final_thought, self.write_answer(example.answer)))]

    def request(self, tools: Sequence[ToolView]) -> JsonObject:
        """Returns no fields: the tools are in the instructions."""
        return {}

    def _without_calls(self, turn: Turn) -> list[Message]:
        said = spoken(turn.kept)
        if not said and turn.answer is not None:
            said = self.write(turn.thought, self.write_answer(turn.answer))
        messages = [with_extra(_assistant(said or NOTHING_SAID), turn.extra)]
        return [*messages, _user(turn.notice)] if turn.notice else messages


def observed(call: Observed) -> str:
    """Returns a call's result between its marks. The text cannot close the mark: end marks inside it are escaped."""
    text = _ENDS.sub("<\\\\", spoken(call.observation) or NOTHING_SEEN)
    gap = "\n" if "\n" in text else ""
    return f"{RESULT}{gap}{text}{gap}{RESULT_ENDS}"


def spoken(*texts: str | None) -> str | None:
    """Returns the first text that is not blank."""
    return next((text for text in texts if text and not text.isspace()), None)


def reads_back(dialect: TextDialect, written: str, request: ToolRequest) -> bool:
    """Whether a call written like this is parsed as the same call, for a tool with one text parameter or any other."""
    names = list(request.args) if isinstance(request.args, dict) else ["input"]
    parsed = dialect.parse(Reply(written), [TextTool(request.tool, names[0])])
    if not isinstance(parsed, Actions) or parsed.calls[0].tool != request.tool:
        return False
    return parsed.calls[0].args == single_text(request.args)


@dataclass(frozen=True, slots=True)
class TextTool:
    """A tool of which only the name and the text parameter are known."""

    name: str
    text_parameter: str | None
    description: str = ""
    code_language: str | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        properties = {self.text_parameter: {"type": "string"}} if self.text_parameter else {}
        return {"type": "object", "properties": properties}


def _assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _user(text: str) -> Message:
    return {"role": "user", "content": text}
