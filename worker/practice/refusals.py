"""Requests that are refused before they reach the model, with errors in the chat API's form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from worker.practice.config import Config
from worker.practice.faults import REFUSALS, Fault
from worker.practice.http import Request


def error_body(kind: str, code: str, message: str, param: str | None = None) -> dict[str, Any]:
    """Returns the chat API's error object."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error response; nothing is billed."""

    status: int
    body: dict[str, Any]
    outcome: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def named(cls, name: str, message: str | None = None, param: str | None = None) -> Refusal:
        status, kind, code, usual = REFUSALS[name]
        return cls(status, error_body(kind, code, message or usual, param), name)

    @classmethod
    def limited(cls, wait_s: float) -> Refusal:
        """Returns the refusal for a rate limit: retry after `wait_s`, given in milliseconds and in whole seconds."""
        status, kind, code, usual = REFUSALS["rate_limit"]
        headers = {"retry-after": str(math.ceil(wait_s)), "retry-after-ms": str(math.ceil(wait_s * 1000))}
        return cls(status, error_body(kind, code, usual), "limited", headers)


def check(
    request: Request, body: Mapping[str, Any], config: Config, prompt_tokens: int, fault: Fault | None
) -> Refusal | None:
    """Returns why this request does not reach the model; None if it does."""
    if config.api_key is not None and request.headers.get("authorization") != f"Bearer {config.api_key}":
        return Refusal.named("bad_key")
    if fault is not None and fault.kind in REFUSALS:
        return _struck(fault)
    if config.strict_models and body.get("model") not in config.models:
        return Refusal.named("unknown_model", f"The model `{body.get('model')}` does not exist.")
    if body.get("tools") and not config.tools_supported:
        return Refusal.named("bad_request", "This model does not support tools.", "tools")
    for name in config.refused_fields:
        if name in body:
            return _unsupported(name)
    return _too_long(body, config, prompt_tokens)


def _struck(fault: Fault) -> Refusal:
    status, kind, code, message = REFUSALS[fault.kind]
    return Refusal(status, error_body(kind, code, message), fault.kind, fault.headers())


def _unsupported(name: str) -> Refusal:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return Refusal(
        400, error_body("invalid_request_error", "unsupported_parameter", message, name), "unsupported_parameter"
    )


def _too_long(body: Mapping[str, Any], config: Config, prompt_tokens: int) -> Refusal | None:
    wanted = body.get("max_completion_tokens") or body.get("max_tokens") or 0
    if config.context_window is None or prompt_tokens + wanted <= config.context_window:
        return None
    message = (
        f"This model's maximum context length is {config.context_window} tokens. However, your messages resulted in "
        f"{prompt_tokens} tokens and {wanted} for the completion. Please reduce their length."
    )
    return Refusal.named("context_length", message, "messages")
