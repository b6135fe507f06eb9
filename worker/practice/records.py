"""What the practice model knows of a conversation, and what it intends: plain records."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from worker.practice.tokens import Counted


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a tool, as the request or the prompt lists it."""

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
        """The parameter that plain text goes to: the only required string, or the only string."""
        texts = [p for p in self.params if p.is_text]
        required = [p for p in texts if p.required]
        if len(required) == 1:
            return required[0].name
        return texts[0].name if len(texts) == 1 else None

    def pick(self, *wishes: str) -> str:
        """The listed parameter whose name is the first of `wishes` that exists; the first wish where none is listed."""
        names = [p.name for p in self.params]
        return next((wish for wish in wishes if wish in names), wishes[0])


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool call gave back."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that the brain may read: the question, the tools listed, the observations since."""

    question: str
    form: str = "plain"
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()
    told_to_answer: bool = False
    corrected: bool = False
    """The last message says that the reply could not be read: write the same again, properly."""


@dataclass(frozen=True, slots=True)
class Call:
    """One intended use of a tool."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Act:
    """Use these tools; several calls are independent of each other."""

    thought: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Say:
    """Answer."""

    thought: str
    answer: str


Intent = Act | Say
Plan = Generator[Act, tuple[Observation, ...], Say]
"""Yields what to do, is sent the observations, returns the answer. Replayed from the start for each request."""


@dataclass(slots=True)
class Completion:
    """A completion as it will be sent, what it was made of, and what it costs. Quirks change it."""

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
