"""Endpoints that send the key back in an unexpected place."""

from __future__ import annotations

from worker.practice.quirks.base import Asked, Quirk, Wire, bad_request
from worker.practice.records import Act, Completion, Say


def _key(asked: Asked) -> str:
    return asked.request.headers.get("authorization", "").removeprefix("Bearer ") or "no-key-was-sent"


def _redirects(asked: Asked) -> Wire:
    headers = {"location": f"https://127.0.0.1:9/login?token={_key(asked)}"}
    return Wire(b"", asked.pick((302, 307, 308)), headers)


def _in_error(asked: Asked) -> Wire:
    return bad_request(f"Invalid value in header Authorization: Bearer {_key(asked)}", status=401)


def _in_reply(asked: Asked, completion: Completion) -> None:
    if isinstance(completion.intent, Say) and completion.form != "json":
        text = str(completion.message["content"])
        end = len(text) - 1 if completion.form == "react_call" else len(text)
        completion.message["content"] = f"{text[:end]} (asked with {_key(asked)}){text[end:]}"


def _in_tool_name(asked: Asked, completion: Completion) -> None:
    if isinstance(completion.intent, Act) and asked.fresh:
        for call in completion.message.get("tool_calls") or ():
            call["function"]["name"] = f"call-{_key(asked)}"
        tool = completion.intent.calls[0].tool
        written = completion.message.get("content")
        if written and completion.form != "native":
            completion.message["content"] = str(written).replace(f"Action: {tool}", f"Action: call-{_key(asked)}")


def _in_ending(asked: Asked, completion: Completion) -> None:
    if asked.fresh:
        completion.choice["finish_reason"] = f"denied for {_key(asked)}"


def _in_usage(asked: Asked, completion: Completion) -> None:
    completion.body["id"] = f"chatcmpl-{_key(asked)}"
    completion.body["system_fingerprint"] = _key(asked)
    completion.message["x_trace"] = f"Authorization: Bearer {_key(asked)}"


QUIRKS = (
    Quirk("key-in-redirect", "redirects to an address that holds the key", "paused", samples=3, refuse=_redirects),
    Quirk("key-in-error", "quotes the key in an error", "paused", refuse=_in_error),
    Quirk("key-in-reply", "quotes the key in an answer", change=_in_reply),
    Quirk("key-in-tool-name", "calls a tool named after the key at each first try", change=_in_tool_name),
    Quirk("key-in-ending", "names the key in finish_reason at each first try", change=_in_ending),
    Quirk("key-in-extras", "puts the key into unknown fields", change=_in_usage),
)
