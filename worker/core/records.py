"""The words of the engine as data: what a model said, what a tool call is, what a step left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

JsonObject = dict[str, Any]
Message = dict[str, Any]
"""One chat message as the API takes it: `{"role": …, "content": …}`."""


class ToolView(Protocol):
    """What the core and the dialects need to know of a tool. `tools.base.Tool` fits it without importing it."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the arguments: `type: object` with `properties` and `required`."""

    @property
    def text_parameter(self) -> str | None:
        """The parameter that plain text goes to: the only required string, or the only string; else None."""

    @property
    def code_language(self) -> str | None:
        """`python` (say) where the text parameter is a program, else None."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the endpoint counted them. `cached_tokens` is part of `prompt_tokens`."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Adaptation:
    """How requests for one endpoint and model differ from the usual ones, since it refused those.

    `feature` is a kind and mostly a name (`without:temperature`), `said` the endpoint's own words. What is not
    `lasting` holds for one prompt only and is not remembered. A `guess` is taken back when it does not help.
    """

    feature: str
    value: Any = None
    said: str = ""
    lasting: bool = True
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model returned for a step.

    `message` is the assistant message as the API sent it (native tool calls live there); `text` its content, or "".
    `reasoning_only` is True where the model thought and then neither said nor called anything.
    """

    text: str
    finish_reason: str | None = None
    message: JsonObject = field(default_factory=dict)
    reasoning_only: bool = False


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One tool call that a reply asks for. `args` is the plain text where it was written as such."""

    tool: str
    args: JsonObject | str
    call_id: str | None = None
    extra: JsonObject = field(default_factory=dict, compare=False)
    """What the call carried beyond the chat API (`worker.core.provider_extras`); it does not count in comparisons."""


@dataclass(frozen=True, slots=True)
class Actions:
    """A reply that acts. `kept` is the part of the reply that counts, as history will show it to the model."""

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
    """A reply that cannot be told; `reason` is written to the model and says how to write it right."""

    reason: str
    kept: str
    thought: str = ""
    dropped: tuple[str, ...] = ()


Parsed = Actions | Answer | Malformed


@dataclass(frozen=True, slots=True)
class Observed:
    """A finished tool call as the model will read it."""

    tool: str
    args: JsonObject
    observation: str
    call_id: str | None = None
    """The endpoint's own id."""
    extra: JsonObject = field(default_factory=dict)
    """What the call carried beyond the chat API: it goes back where it came from."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished step, neutral of dialect: what history and few-shot examples are rendered from.

    `kept` is the reply's text as the dialect kept it ("" for an example: the dialect writes it from `thought` and
    `calls`). `notice` is what the model was told when the step made no call (a malformed reply, a last call to answer).
    """

    thought: str
    calls: tuple[Observed, ...] = ()
    kept: str = ""
    notice: str | None = None
    answer: str | None = None
    extra: JsonObject = field(default_factory=dict)
    """What the message carried beyond the chat API: it goes back to the endpoint that is named by `endpoint_id`."""
    endpoint_id: str | None = None
    cut: bool = False
    """Whether the output limit cut the reply off."""


@dataclass(frozen=True, slots=True)
class Example:
    """A few-shot example in its neutral form: a question, the turns, the answer."""

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
        """Stop sequences to send where the endpoint accepts them (`\\nObservation:`)."""

    def instructions(self, tools: Sequence[ToolView]) -> str:
        """The format rules, the tools and a worked example; fixed for an agent, so that prompt caches hit."""

    def parse(self, reply: Reply, tools: Sequence[ToolView]) -> Parsed:
        """Never raises, never guesses between two readings."""

    def transcript(self, turn: Turn) -> list[Message]:
        """A finished step as chat messages: the assistant's, then what it was told."""

    def example(self, example: Example) -> list[Message]:
        """A few-shot example as chat messages, in this dialect."""

    def request(self, tools: Sequence[ToolView]) -> JsonObject:
        """Extra fields of the request body (`tools` for native), {} otherwise."""
