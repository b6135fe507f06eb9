"""Tells whose fault a failed model call is, from the HTTP status and the body that the endpoint sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from worker.core.errors import (
    AccessDenied,
    CallEnded,
    ContentFilter,
    ContextOverflow,
    EndpointBusy,
    EndpointFailed,
    ModelRejected,
    QuotaExhausted,
    RateLimited,
    ToolsUnsupported,
    TransientError,
    UnknownModel,
    WrongKey,
)
from worker.core.records import Usage
from worker.llm.errorbody import ErrorBody, read_error
from worker.llm.retryafter import retry_after
from worker.llm.scrub import scrub

FREE = Usage()
"""What a call costs that was refused before any work."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_CONTEXT = _any(
    r"context_length_exceeded",
    r"exceed_context_size",
    r"maximum context length",
    r"exceeds? (?:the )?(?:available |model'?s? |maximum )*context",
    r"context (?:length|size|window)\b.{0,40}\bexceed",
    r"(?:prompt|input) is too (?:long|large)",
    r"input token count.{0,40}exceeds",
    r"input length should be",
    r"longer than the maximum model length",
    r"too many (?:input )?tokens",
    r"reduce the length of the (?:messages|prompt|input)",
    r"request too large for",  # 429 where one request alone is over the tokens of a minute: waiting cannot help
)
_FILTER = _any(
    r"content_filter",
    r"ResponsibleAIPolicyViolation",
    r"content management policy",
    r"content_policy_violation",
    r"data_?inspection_?failed",
    r"inappropriate content",
    r"Content Exists Risk",
    r"requires moderation",
    r"flagged (?:as|for|by)",
)
_TOOLS = _any(
    r"does not support (?:tools|tool|function)",
    r"tools? param requires",
    r"unsupported param: tools",
    r"tool choice requires --enable-auto-tool-choice",
    r"no endpoints found that support tool",
    r"(?:tools|tool_choice|tool calling|function calling)['\"`]? (?:is|are) not (?:supported|enabled)",
)
_QUOTA = _any(
    r"insufficient_quota",
    r"billing_(?:hard_limit|not_active)",
    r"insufficient balance",
    r"insufficient credits",
    r"credit balance is too low",
    r"arrearage",
    r"FreeTierOnly",
)
# Qwen's endpoint uses the quota code for its limits per minute too.
_PER_MINUTE = _any(r"allocated quota exceeded", r"#token-limit", r"throttling", r"per[- _]min")
_KEY = _any(r"invalid_api_key", r"api[ _]key not valid", r"API_KEY_INVALID", r"incorrect api key")
_NO_MODEL = _any(r"model_not_found", r"model not exist", r"DeploymentNotFound", r"unknown model", r"invalid model")


def from_status(
    status: int,
    body: object,
    headers: Mapping[str, str],
    *,
    secrets: Iterable[str] = (),
    wall_now_s: float | None = None,
) -> CallEnded:
    """The error of a response that is no success. `body` is parsed JSON or text, `headers` case-insensitive."""
    error = read_error(body, secrets)
    message = error.message.removesuffix(".")
    said = f"the model endpoint answered {status}: {message}" if message else f"answered {status}"
    for_content = _by_content(status, error, said)
    if for_content is not None:
        return for_content
    asked = retry_after(headers, wall_now_s)
    if status in _TRANSIENT or status >= 500:
        kind = _TRANSIENT.get(status, EndpointFailed)
        note = f" ({asked.note})" if asked.note else ""
        cost = FREE if kind is RateLimited else None
        return kind(said + note, retry_after_s=asked.wait_s, usage=cost, status=status)
    return _by_status(status, error, said, scrub(headers.get("location", ""), secrets))


_TRANSIENT: dict[int, type[TransientError]] = {
    408: EndpointFailed,
    409: EndpointFailed,
    425: EndpointFailed,
    429: RateLimited,
    503: EndpointBusy,
    529: EndpointBusy,
}


def _by_content(status: int, error: ErrorBody, said: str) -> CallEnded | None:
    """What the body tells apart whatever the status: endpoints agree on few of them."""
    words = error.words
    if _TOOLS.search(words) or (error.param in ("tools", "tool_choice") and "support" in words.lower()):
        hint = "; this endpoint has no tool calls: choose a text dialect such as react_json"
        return ToolsUnsupported(said + hint, usage=FREE, status=status)
    if _CONTEXT.search(words):
        return ContextOverflow(said, usage=FREE, status=status)
    if status < 500 and _FILTER.search(words):
        return ContentFilter(said, status=status)
    if status == 402 or (status < 500 and _QUOTA.search(words) and not _PER_MINUTE.search(words)):
        return QuotaExhausted(f"{said}; add credit or raise the limit at the provider", usage=FREE, status=status)
    return None


def _by_status(status: int, error: ErrorBody, said: str, location: str) -> CallEnded:
    if status == 401 or (status < 500 and _KEY.search(error.words)):
        return WrongKey(f"{said}; check the API key", usage=FREE, status=status)
    if status in (403, 407):
        return AccessDenied(f"{said}; check what the key may use", usage=FREE, status=status)
    if status in (404, 405) or _NO_MODEL.search(error.words):
        return UnknownModel(f"{said}; check the model's name and the base URL", usage=FREE, status=status)
    if 300 <= status < 400:
        place = location or "elsewhere"
        return UnknownModel(f"{said}; it redirects to {place}: correct the base URL", usage=FREE, status=status)
    return ModelRejected(said, usage=FREE, status=status)
