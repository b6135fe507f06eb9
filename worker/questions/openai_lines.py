"""OpenAI batch request lines (`{"custom_id", "method", "url", "body"}`) as questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worker.questions.record import kind_of
from worker.questions.template import BadLine

URL = "/v1/chat/completions"
_ENVELOPE = {"custom_id", "method", "url", "body"}
_REFUSED = ("tools", "tool_choice", "functions", "function_call", "response_format", "n")
"""Settings that would change the kind of answer; in stepmill the agent decides them."""
_USED = {"model", "messages"}


def is_request(fields: Mapping[str, Any]) -> bool:
    """Returns whether a line is an OpenAI batch request rather than a stepmill question."""
    return "question" not in fields and "body" in fields and ("url" in fields or "method" in fields)


def as_fields(request: Mapping[str, Any], ignored: set[str]) -> dict[str, Any]:
    """Returns the fields of a question; adds settings that the agent decides to `ignored`. Raises `BadLine`."""
    body = request["body"]
    if not isinstance(body, dict):
        raise BadLine(f'"body" must be an object, not {kind_of(body)}')
    if request.get("url", URL) != URL or request.get("method", "POST") != "POST":
        raise BadLine(f"asks for {request.get('method', 'POST')} {request.get('url')}; only POST {URL} is understood")
    for name in _REFUSED:
        if body.get(name) not in (None, 1, [], "auto"):
            raise BadLine(f'sets "{name}", which an agent decides here; remove it')
    ignored.update(set(body) - _USED)
    others = {name: value for name, value in request.items() if name not in _ENVELOPE}
    return {
        **others,
        "custom_id": request.get("custom_id"),
        "model": body.get("model"),
        "question": _question(body.get("messages")),
    }


def _question(messages: Any) -> str:
    if not isinstance(messages, list) or not messages:
        raise BadLine('"body.messages" must be a list with at least one message')
    parts = []
    for number, message in enumerate(messages, 1):
        role = message.get("role") if isinstance(message, dict) else None
        last = number == len(messages)
        if role not in ("system", "developer", "user") or (role == "user") != last:
            raise BadLine(
                f"message {number} is of {role!r}: only instructions and then one user message are understood"
            )
        parts.append(_text(message.get("content"), number))
    return "\n\n".join(part for part in parts if part)


def _text(content: Any, number: int) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(p, dict) and p.get("type") == "text" for p in content):
        return "".join(str(part.get("text", "")) for part in content)
    raise BadLine(f"message {number} is not text; images, audio and files are not understood")
