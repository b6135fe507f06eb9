"""The engine's data types: replies, tool calls, finished steps, and the interface of dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

JsonObject = dict[str, Any]
Message = dict[str, Any]
"""One chat message as the API takes it: `{"role": …, "content": …}`."""


class ToolView(Protocol):
    """What the core and the dialects need to know about a tool. `tools.base.Tool` conforms without importing it."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the arguments: `type: object` with `properties` and `required`."""

    @property
    def text_parameter(self) -> str | None:
        """The parameter that receives plain text: the only required string, or the only string; else None."""

    @property
    def code_language(self) -> str | None:
        """The language, such as `python`, if the text parameter is a program; else None."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the endpoint counted them. `cached_tokens` is part of `prompt_tokens`."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Adaptation:
    """One way in which requests to an endpoint and model must differ, because it refused the usual ones.

    `feature` is a kind and usually a name (`without:temperature`); `said` is the endpoint's own text. One that is not
    `lasting` applies to one prompt only and is not stored. A `guess` is undone if it does not help.
    """

    feature: str
    value: Any = None
    said: str = ""
    lasting: bool = True
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model returned for a step.

    `message` is the assistant message as the API sent it, including native tool calls; `text` is its content, or "".
    `reasoning_only` is True if the model thought and then neither wrote nor called anything.
    """

    text: str
    finish_reason: str | None = None
    message: JsonObject = field(default_factory=dict)
    reasoning_only: bool = False


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One tool call that a reply asks for. `args` is a string if it was written as plain text."""

    tool: str
    args: JsonObject | str
    call_id: str | None = None
    extra: JsonObject = field(default_factory=dict, compare=False)
    """Provider-specific fields of the call (`worker.core.provider_extras`); ignored in comparisons."""


@dataclass(frozen=True, slots=True)
class Actions:
    """A reply that calls tools. `kept` is the part of the reply that history will show to the model."""

    calls: tuple[ToolRequest, ...]
    thought: str
    kept: str
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply that ends the run."""

    text: str
    thought: str
    kept: str
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Malformed:
    """An unreadable or ambiguous reply; `reason` tells the model how to write it correctly."""

    reason: str
    kept: str
    thought: str = ""
    dropped: tuple[str, ...] = ()


Parsed = Actions | Answer | Malformed


@dataclass(frozen=True, slots=True)
class Observed:
    """A finished tool call as the model will see it."""

    tool: str
    args: JsonObject
    observation: str
    call_id: str | None = None
    """The endpoint's own id of the call."""
    extra: JsonObject = field(default_factory=dict)
    """Provider-specific fields of the call, sent back to the endpoint that they came from."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished step, independent of the dialect, from which history and few-shot examples are rendered.

    `kept` is the reply's text as the dialect kept it; for an example it is "", and the dialect writes it from `thought`
    and `calls`. `notice` is what the model was told if the step made no call (malformed reply, request to answer).
    """

    thought: str
    calls: tuple[Observed, ...] = ()
    kept: str = ""
    notice: str | None = None
    answer: str | None = None
    extra: JsonObject = field(default_factory=dict)
    """Provider-specific fields of the message, sent back to the endpoint `endpoint_id` only."""
    endpoint_id: str | None = None
    cut: bool = False
    """Whether the output limit cut the reply off."""


@dataclass(frozen=True, slots=True)
class Example:
    """A few-shot example independent of the dialect: a question, the turns, the answer."""

    question: str
    turns: tuple[Turn, ...]
    answer: str
    final_thought: str = ""


class Dialect(Protocol):
    """How the model is asked to write actions and answers, and how its reply is parsed. Pure."""

    @property
    def name(self) -> str: ...

    @property
    def stop(self) -> tuple[str, ...]:
        """Stop sequences to send if the endpoint accepts them (`\\nObservation:`)."""

    def instructions(self, tools: Sequence[ToolView]) -> str:
        """Returns the format rules, the tools and a worked example; constant per agent, so that prompt caches hit."""

    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        """Parses a reply. Never raises, and returns `Malformed` rather than choose between two readings."""

    def transcript(self, turn: Turn) -> list[Message]:
        """Returns a finished step as chat messages: the assistant's message, then the observations or notice."""

    def example(self, example: Example) -> list[Message]:
        """Returns a few-shot example as chat messages in this dialect."""

    def request(self, tools: Sequence[ToolView]) -> JsonObject:
        """Returns extra fields for the request body (`tools` for native), otherwise {}."""
