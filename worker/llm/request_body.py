"""The JSON of a chat completion request, before it is adapted to its endpoint."""

from __future__ import annotations

import json

import httpx2
import orjson

from worker.core.records import JsonObject
from worker.llm.adaptations import OUTPUT_LIMITS
from worker.llm.endpoint import ModelRequest


def request_body(request: ModelRequest, base_url: str) -> JsonObject:
    """Returns the body to send; the user's `extra_body` overrides everything."""
    body: JsonObject = {"model": request.model, "messages": list(request.messages), "stream": False}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.stop:
        body["stop"] = list(request.stop)
    if request.max_output_tokens is not None:
        body[_limit_name(base_url)] = request.max_output_tokens
    if request.reasoning_effort is not None:
        body["reasoning_effort"] = request.reasoning_effort
    return {**body, **request.extra, **request.extra_body}


def _limit_name(base_url: str) -> str:
    """Returns the limit's name: OpenAI itself takes the new name for every model; most others know the old one."""
    old, new = OUTPUT_LIMITS
    return new if httpx2.URL(base_url).host == "api.openai.com" else old


def encoded(body: JsonObject) -> bytes:
    """Encodes as UTF-8, whatever the texts contain."""
    try:
        return orjson.dumps(body)
    except TypeError:  # lone surrogates, which cut observations may contain, become question marks
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
