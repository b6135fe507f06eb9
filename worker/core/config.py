"""What a run runs with: an agent as a file names it, and the configuration that is stored by its hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field

from worker.core.given import Given
from worker.core.records import Example, JsonObject, Observed, Turn

MOST_TOKENS = 1_000_000_000
LONGEST_S = 366 * 86_400.0
"""Numbers that a configuration may hold; they are added to moments and multiplied with prices."""

OUTPUT_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
"""How the chat API calls the output limit: an old name and a new one."""


class ExampleCall(Given):
    """A tool call of a few-shot example."""

    model_config = ConfigDict(frozen=True)
    tool: str
    args: JsonObject = Field(default_factory=dict)
    observation: str
    thought: str = ""


class FewShot(Given):
    """A few-shot example in its neutral form; the dialect writes it."""

    model_config = ConfigDict(frozen=True)
    question: str
    calls: tuple[ExampleCall, ...] = ()
    answer: str
    thought: str = ""

    def example(self) -> Example:
        """As a dialect takes it."""
        turns = tuple(Turn(call.thought, (Observed(call.tool, call.args, call.observation),)) for call in self.calls)
        return Example(self.question, turns, self.answer, self.thought)


class EndpointLimits(Given):
    """What the whole fleet may do at an endpoint and model; absent: no limit."""

    model_config = ConfigDict(frozen=True)
    requests_per_min: int | None = Field(None, ge=1, le=MOST_TOKENS)
    tokens_per_min: int | None = Field(None, ge=1, le=MOST_TOKENS)
    concurrent: int | None = Field(None, ge=1, le=MOST_TOKENS)

    def __bool__(self) -> bool:
        """Whether there is any limit at all."""
        return (self.requests_per_min, self.tokens_per_min, self.concurrent) != (None, None, None)


class Agent(Given):
    """A named configuration, as the agents file writes it. All defaults stand here and nowhere else."""

    model_config = ConfigDict(frozen=True)
    model: str = ""
    base_url: str = Field("", repr=False)
    api_key_env: str = "OPENAI_API_KEY"
    """The variable that holds the key; a configuration never holds one."""
    temperature: float | None = Field(0.0, ge=0, le=2)
    send_stop: bool = True
    max_output_tokens: int = Field(4096, ge=1, le=MOST_TOKENS)
    """Of one reply."""
    context_window: int | None = Field(None, ge=256, le=MOST_TOKENS)
    """Tokens of prompt and reply together; None: not known, so that only the endpoint says what is too long."""
    call_time_limit_s: float = Field(300.0, gt=0, le=LONGEST_S)
    reasoning_effort: str | None = None
    extra_body: JsonObject = Field(default_factory=dict)
    limits: EndpointLimits | None = None
    name: str = ""
    dialect: str = "react_json"
    tools: tuple[str, ...] = ()
    instructions: str = ""
    examples: tuple[FewShot, ...] = ()
    max_output_tokens_ceiling: int | None = Field(None, ge=1, le=MOST_TOKENS)
    """To how much `max_output_tokens` is raised, once a run, when thinking used it up; None: to twice as much."""
    max_steps: int = Field(10, ge=1, le=1000)
    max_malformed: int = Field(3, ge=1, le=100)
    max_model_failures: int = Field(8, ge=1, le=1000)
    time_limit_s: float | None = Field(None, gt=0, le=LONGEST_S)
    """Of a run, from its admission."""
    max_observation_chars: int = Field(8_000, ge=100, le=MOST_TOKENS)
    approve: tuple[str, ...] = ()
    """Tools whose calls wait until a person approves them."""
    plain_answers: bool = False
    """Whether prose without any label counts as an answer."""


class RunConfig(Agent):
    """An agent whose model and address are filled in. `simulated`: the practice model answers."""

    simulated: bool = False

    @classmethod
    def stored(cls, body: Mapping[str, Any]) -> RunConfig:
        """From the database, unchecked: another version may have taken what this one refuses, and its runs go on."""
        values = {name: value for name, value in body.items() if name in cls.model_fields}
        values |= {name: tuple(values[name]) for name in ("tools", "approve") if name in values}
        values["examples"] = tuple(_stored_example(example) for example in values.get("examples", ()))
        if values.get("limits") is not None:
            values["limits"] = EndpointLimits.model_construct(**values["limits"])
        return cls.model_construct(**values)

    def body(self) -> JsonObject:
        """As it is stored and shown."""
        return self.model_dump(mode="json")

    @property
    def output_tokens(self) -> int:
        """The output limit of a reply. One in `extra_body` has the last word."""
        return max(self._own_limits, default=self.max_output_tokens)

    @property
    def raised_output_tokens(self) -> int:
        """The output limit once it was raised; the same as before where that is not allowed."""
        if self._own_limits:
            return self.output_tokens
        ceiling = self.max_output_tokens_ceiling
        return max(self.max_output_tokens, 2 * self.max_output_tokens if ceiling is None else ceiling)

    @property
    def _own_limits(self) -> list[int]:
        found = (self.extra_body.get(name) for name in OUTPUT_LIMIT_FIELDS)
        return [limit for limit in found if isinstance(limit, int)]


def _stored_example(body: Mapping[str, Any]) -> FewShot:
    calls = tuple(ExampleCall.model_construct(**call) for call in body.get("calls", ()))
    return FewShot.model_construct(**{**body, "calls": calls})
