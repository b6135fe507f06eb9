"""A model endpoint as an agent's settings describe it, and the requests to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worker.core.config import OUTPUT_LIMIT_FIELDS, Agent, EndpointLimits, RunConfig
from worker.core.records import JsonObject, Message
from worker.llm.address import parse_address

OPENAI_BASE_URL = "https://api.openai.com/v1"


_DEFAULT = Agent()
_NO_LIMITS = EndpointLimits()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One chat completion to ask for.

    `extra` comes from the dialect (tools); `extra_body` from the user, and overrides everything.
    `request_id` is sent as `x-request-id`, so that an endpoint's own log can be matched with an attempt.
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
        """The most tokens that the endpoint may write for the request as it is sent."""
        limits = [self.extra_body.get(name) for name in OUTPUT_LIMIT_FIELDS]
        # The largest limit, since an endpoint may obey either of two names.
        most = max(self.max_output_tokens or 0, *(limit if isinstance(limit, int) else 0 for limit in limits))
        choices = self.extra_body.get("n")
        return most * (choices if isinstance(choices, int) and choices > 1 else 1)

    @property
    def users_fields(self) -> frozenset[str]:
        """The fields of the request that come only from the user's settings."""
        given = {"reasoning_effort"} if self.reasoning_effort is not None else set()
        return frozenset({*given, *self.extra_body})

    @property
    def size_bytes(self) -> int:
        """The size of everything that the endpoint reads, tools too, as JSON. No token is shorter than a byte."""
        read = {"messages": list(self.messages), **self.extra, **self.extra_body}
        return len(json.dumps(read, ensure_ascii=False).encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """How a configuration reaches its model. Holds the name of the key's variable, never a key or a login."""

    model: str
    base_url: str = OPENAI_BASE_URL
    api_key_env: str = _DEFAULT.api_key_env
    temperature: float | None = _DEFAULT.temperature
    send_stop: bool = _DEFAULT.send_stop
    max_output_tokens: int = _DEFAULT.max_output_tokens
    call_time_limit_s: float = _DEFAULT.call_time_limit_s
    reasoning_effort: str | None = None
    extra_body: JsonObject = field(default_factory=dict)
    limits: EndpointLimits = _NO_LIMITS

    def __post_init__(self) -> None:
        # The only way to normalise a field of a frozen dataclass; no secret may remain in it.
        object.__setattr__(self, "base_url", parse_address(self.base_url).url)

    @classmethod
    def of(cls, config: RunConfig, base_url: str) -> EndpointSettings:
        """Returns the endpoint of a configuration at this address. Raises ValueError if it is no valid address."""
        return cls(
            model=config.model,
            base_url=base_url,
            api_key_env=config.api_key_env,
            temperature=config.temperature,
            send_stop=config.send_stop,
            max_output_tokens=config.max_output_tokens,
            call_time_limit_s=config.call_time_limit_s,
            reasoning_effort=config.reasoning_effort,
            extra_body=config.extra_body,
            limits=config.limits or _NO_LIMITS,
        )

    @property
    def endpoint_id(self) -> str:
        """Identifies endpoint and model for pauses and limits: the same on every machine, whatever else is set."""
        return hashlib.sha256(f"{self.base_url.rstrip('/')}\n{self.model}".encode()).hexdigest()[:16]

    def request(
        self,
        messages: Sequence[Message],
        *,
        request_id: str = "",
        stop: tuple[str, ...] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> ModelRequest:
        """Returns the request for one step; `stop` and `extra` come from the dialect."""
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
