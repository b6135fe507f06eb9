"""A model endpoint as an agent's settings describe it, and the requests made for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from worker.core.records import JsonObject, Message
from worker.llm.address import parse_address

OPENAI_BASE_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Limits:
    """What the whole fleet may do at one endpoint and model; None: no limit."""

    requests_per_min: int | None = None
    tokens_per_min: int | None = None
    concurrent: int | None = None

    def __post_init__(self) -> None:
        for name in ("requests_per_min", "tokens_per_min", "concurrent"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}: it must be at least 1, or absent for no limit")

    def __bool__(self) -> bool:
        """Whether there is any limit at all."""
        return (self.requests_per_min, self.tokens_per_min, self.concurrent) != (None, None, None)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One chat completion to ask for.

    `extra` is the dialect's (tools); `extra_body` the user's, which has the last word.
    `request_id` goes out as `x-request-id`, so that an endpoint's own log can be matched with an attempt.
    """

    model: str
    messages: Sequence[Message]
    request_id: str = ""
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def most_output_tokens(self) -> int:
        """What the endpoint may write at most, as the request that leaves says."""
        limits = [self.extra_body.get(name) for name in ("max_tokens", "max_completion_tokens")]
        # Under whichever name it goes out, and whichever of two names the endpoint obeys: the largest.
        most = max(self.max_output_tokens or 0, *(limit if isinstance(limit, int) else 0 for limit in limits))
        choices = self.extra_body.get("n")
        return most * (choices if isinstance(choices, int) and choices > 1 else 1)

    @property
    def users_fields(self) -> frozenset[str]:
        """The fields of the request that nobody but the user asked for."""
        given = {"reasoning_effort"} if self.reasoning_effort is not None else set()
        return frozenset({*given, *self.extra_body})

    @property
    def size_bytes(self) -> int:
        """All that the endpoint reads, as bytes of JSON: the tools too. No token of it is shorter than a byte."""
        read = {"messages": list(self.messages), **self.extra, **self.extra_body}
        return len(json.dumps(read, ensure_ascii=False).encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """An agent's model settings: with the name of the variable that holds the key, never a key or a login."""

    model: str
    base_url: str = OPENAI_BASE_URL
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    send_stop: bool = True
    max_output_tokens: int = 4096
    context_window: int | None = None
    call_time_limit_s: float = 300.0
    reasoning_effort: str | None = None
    extra_body: JsonObject = field(default_factory=dict)
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise ValueError("model is empty: name the model to ask")
        # A frozen dataclass has no other way to bring a field into its one form, and no secret may stay in it.
        object.__setattr__(self, "base_url", parse_address(self.base_url).url)
        if self.call_time_limit_s <= 0:
            raise ValueError(f"call_time_limit_s is {self.call_time_limit_s}: it must be above 0")
        if self.max_output_tokens < 1:
            raise ValueError(f"max_output_tokens is {self.max_output_tokens}: it must be at least 1")

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> EndpointSettings:
        """From a table of the agents file or a stored configuration. ValueError names an unknown or wrong setting."""
        known = {item.name for item in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"unknown model setting {unknown[0]!r}; known are {', '.join(sorted(known))}")
        limits = values.get("limits") or Limits()
        if isinstance(limits, Mapping):
            try:
                limits = Limits(**limits)
            except TypeError:
                raise ValueError("limits takes requests_per_min, tokens_per_min and concurrent only") from None
        return cls(**{**values, "limits": limits})

    @property
    def endpoint_id(self) -> str:
        """Names the endpoint and model for pauses and limits: the same on every machine, whatever else is set."""
        return hashlib.sha256(f"{self.base_url.rstrip('/')}\n{self.model}".encode()).hexdigest()[:16]

    def request(
        self,
        messages: Sequence[Message],
        *,
        request_id: str = "",
        stop: tuple[str, ...] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> ModelRequest:
        """The request for one step; `stop` and `extra` are the dialect's."""
        return ModelRequest(
            model=self.model,
            messages=messages,
            request_id=request_id,
            temperature=self.temperature,
            stop=stop if self.send_stop else (),
            max_output_tokens=self.max_output_tokens,
            reasoning_effort=self.reasoning_effort,
            extra=extra or {},
            extra_body=self.extra_body,
        )
