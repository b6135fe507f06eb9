"""Configuration of a run: the agent as the agents file defines it, and the form that is stored under a hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field

from worker.core.given import Given
from worker.core.records import Example, JsonObject, Observed, Turn

MOST_TOKENS = 1_000_000_000
LONGEST_S = 366 * 86_400.0
"""Upper bounds of numbers in a configuration, which are added to times and multiplied by prices."""

OUTPUT_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
"""The chat API's names for the output limit, old and new."""


class ExampleCall(Given):
    """A tool call of a few-shot example."""

    model_config = ConfigDict(frozen=True)
    tool: str
    args: JsonObject = Field(default_factory=dict)
    observation: str
    thought: str = ""


class FewShot(Given):
    """A few-shot example, independent of the dialect that renders it."""

    model_config = ConfigDict(frozen=True)
    question: str
    calls: tuple[ExampleCall, ...] = ()
    answer: str
    thought: str = ""

    def example(self) -> Example:
        """Converts it to the form that dialects take."""
        turns = tuple(Turn(call.thought, (Observed(call.tool, call.args, call.observation),)) for call in self.calls)
        return Example(self.question, turns, self.answer, self.thought)


class EndpointLimits(Given):
    """Limits for the whole fleet at one endpoint and model; None means no limit."""

    model_config = ConfigDict(frozen=True)
    requests_per_min: int | None = Field(None, ge=1, le=MOST_TOKENS)
    tokens_per_min: int | None = Field(None, ge=1, le=MOST_TOKENS)
    concurrent: int | None = Field(None, ge=1, le=MOST_TOKENS)

    def __bool__(self) -> bool:
        """Returns whether any limit is set."""
        return (self.requests_per_min, self.tokens_per_min, self.concurrent) != (None, None, None)


class Agent(Given):
    """A named configuration as written in the agents file. All defaults are defined here only."""

    model_config = ConfigDict(frozen=True)
    model: str = ""
    base_url: str = Field("", repr=False)
    api_key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key; a configuration never contains the key itself."""
    temperature: float | None = Field(0.0, ge=0, le=2)
    send_stop: bool = True
    max_output_tokens: int = Field(4096, ge=1, le=MOST_TOKENS)
    """The output limit of one reply, in tokens."""
    context_window: int | None = Field(None, ge=256, le=MOST_TOKENS)
    """Tokens of prompt and reply together; None: unknown, so only the endpoint decides what is too long."""
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
    """What `max_output_tokens` is raised to, once per run, if thinking used it up; None: twice as much."""
    max_steps: int = Field(10, ge=1, le=1000)
    max_malformed: int = Field(3, ge=1, le=100)
    max_model_failures: int = Field(8, ge=1, le=1000)
    time_limit_s: float | None = Field(None, gt=0, le=LONGEST_S)
    """Seconds that a run may take from its admission."""
    max_observation_chars: int = Field(8_000, ge=100, le=MOST_TOKENS)
    approve: tuple[str, ...] = ()
    """Tools whose calls wait until a person approves them."""
    plain_answers: bool = False
    """Whether prose without a label counts as an answer."""


class RunConfig(Agent):
    """An agent with its model and address filled in. `simulated` means that the practice model answers."""

    simulated: bool = False

    @classmethod
    def stored(cls, body: Mapping[str, Any]) -> RunConfig:
        """Loads a stored body without validation: runs that another version accepted must continue."""
        values = {name: value for name, value in body.items() if name in cls.model_fields}
        values |= {name: tuple(values[name]) for name in ("tools", "approve") if name in values}
        values["examples"] = tuple(_stored_example(example) for example in values.get("examples", ()))
        if values.get("limits") is not None:
            values["limits"] = EndpointLimits.model_construct(**values["limits"])
        return cls.model_construct(**values)

    def body(self) -> JsonObject:
        """Returns the JSON form that is stored and shown."""
        return self.model_dump(mode="json")

    @property
    def output_tokens(self) -> int:
        """The output limit of a reply, in tokens. A limit in `extra_body` takes precedence."""
        return max(self._own_limits, default=self.max_output_tokens)

    @property
    def raised_output_tokens(self) -> int:
        """The output limit after it was raised; unchanged if raising is not allowed."""
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
