"""Plain records: what the practice model knows of a conversation, and what it intends."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from worker.practice.tokens import Counted


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a tool, as listed in the request or prompt."""

    name: str
    type: str = "string"
    required: bool = True

    @property
    def is_text(self) -> bool:
        return self.type.startswith(("str", "text"))


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may use."""

    name: str
    params: tuple[Param, ...] = ()
    description: str = ""

    @property
    def text_param(self) -> str | None:
        """The parameter that plain text goes to: the only required string, or the only string; else None."""
        texts = [p for p in self.params if p.is_text]
        required = [p for p in texts if p.required]
        if len(required) == 1:
            return required[0].name
        return texts[0].name if len(texts) == 1 else None

    def pick(self, *wishes: str) -> str:
        """Returns the first of `wishes` that is a listed parameter; the first wish if none is listed."""
        names = [p.name for p in self.params]
        return next((wish for wish in wishes if wish in names), wishes[0])


@dataclass(frozen=True, slots=True)
class Observation:
    """A tool call's result."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything the brain may read: the question, the tools listed, the observations since."""

    question: str
    form: str = "plain"
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()
    told_to_answer: bool = False
    corrected: bool = False
    """Whether the last message says that the reply could not be read: write the same again, correctly."""


@dataclass(frozen=True, slots=True)
class Call:
    """One intended use of a tool."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Act:
    """Calls these tools; the calls are independent of each other."""

    thought: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Say:
    """Gives the answer."""

    thought: str
    answer: str


Intent = Act | Say
Plan = Generator[Act, tuple[Observation, ...], Say]
"""Yields acts, is sent their observations, returns the answer. Replayed from the start for each request."""


@dataclass(slots=True)
class Completion:
    """A completion as it will be sent, its intent and form, and its usage. Quirks change it."""

    body: dict[str, Any]
    intent: Intent
    usage: Counted
    form: str
    untidy: str | None

    @property
    def choice(self) -> dict[str, Any]:
        first: dict[str, Any] = self.body["choices"][0]
        return first

    @property
    def message(self) -> dict[str, Any]:
        said: dict[str, Any] = self.choice["message"]
        return said
