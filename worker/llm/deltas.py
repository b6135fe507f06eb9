"""Assembles a reply from the chunks of a stream. Pure: never raises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from worker.core.records import JsonObject

_TEXTS = ("content", "reasoning_content", "reasoning", "thinking", "refusal")


def join_chunks(values: Iterable[object]) -> JsonObject:
    """Returns the completion in streamed chunks, from their first choice. `broken_off` is True if no end was sent."""
    joined = _Joined()
    for value in values:
        joined.add(value)
    return joined.completion()


class _Joined:
    def __init__(self) -> None:
        self._top: JsonObject = {}
        self._message: JsonObject = {}
        self._calls: list[JsonObject] = []
        self._places: dict[object, int] = {}
        self._finish: object = None
        self._saw_choice = False
        self._saw_whole = False
        self._closed = False

    def add(self, value: object) -> None:
        if isinstance(value, list):
            for item in value:
                self.add(item)
        if not isinstance(value, dict):
            return
        if value.get("done") is True:
            self._closed = True
        self._top.update({name: part for name, part in value.items() if part is not None and name != "choices"})
        choice = _first_choice(value.get("choices"))
        if choice is not None:
            self._add_choice(choice)

    def completion(self) -> JsonObject:
        """Returns only the top-level fields if no chunk had a choice, as in an error."""
        self._top.pop("done", None)
        if not self._saw_choice:
            return self._top
        if self._calls:
            self._message["tool_calls"] = self._calls
        choice = {"index": 0, "message": {"role": "assistant", **self._message}, "finish_reason": self._finish}
        # a gateway may close the stream normally although the model's part of it broke
        ended = self._finish is not None or (self._closed and (self._saw_whole or bool(self._top.get("usage"))))
        return {**self._top, "choices": [choice], **({} if ended else {"broken_off": True})}

    def _add_choice(self, choice: JsonObject) -> None:
        self._saw_choice = True
        if choice.get("finish_reason") not in (None, ""):
            self._finish = choice["finish_reason"]
        for name in ("usage", "error"):
            if choice.get(name):
                self._top[name] = choice[name]
        whole, delta = choice.get("message"), choice.get("delta")
        if isinstance(whole, dict):
            self._message, self._calls, self._saw_whole = {}, [], True  # the last chunk repeats the whole message
            self._add_delta(whole)
        if isinstance(delta, dict):
            self._add_delta(delta)
        if isinstance(choice.get("text"), str):
            self._add_delta({"content": choice["text"]})

    def _add_delta(self, delta: JsonObject) -> None:
        for name, part in delta.items():
            if name == "tool_calls":
                for call in part if isinstance(part, list) else ():
                    self._add_call(call)
            elif part is None:
                self._message.setdefault(name, None)
            elif name in _TEXTS:
                self._message[name] = _plus(self._message.get(name), part)
            else:
                self._message[name] = part

    def _add_call(self, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        call = self._call_of(delta)
        for name, part in delta.items():
            if name == "function" and isinstance(part, dict):
                _add_function(call.setdefault("function", {}), part)
            elif name != "index" and part not in (None, ""):
                call[name] = part

    def _call_of(self, delta: JsonObject) -> JsonObject:
        """Returns the call that a delta belongs to: by its index, else by its id, else the last one."""
        index, call_id = delta.get("index"), delta.get("id")
        place = f"#{index}" if index is not None else call_id or None
        if not isinstance(place, str):
            place = next(reversed(self._places), "#0") if self._calls else "#0"
        at = self._places.get(place)
        if at is None or (call_id and self._calls[at].get("id") not in (None, "", call_id)):
            self._places.pop(place, None)
            self._places[place] = at = len(self._calls)
            self._calls.append({})
        return self._calls[at]


def _add_function(function: JsonObject, delta: JsonObject) -> None:
    for name, part in delta.items():
        if name == "arguments" and isinstance(part, str):
            function[name] = _plus(function.get(name), part)
        elif part is not None and (name != "name" or not function.get(name)):
            function[name] = part


def _plus(before: Any, part: Any) -> Any:
    """Joins texts and lists of parts; of anything else the last value counts."""
    if isinstance(before, str) and isinstance(part, str):
        return before + part
    if isinstance(before, list) and isinstance(part, list):
        return before + part
    if isinstance(before, list) and isinstance(part, str):
        return [*before, {"type": "text", "text": part}]
    if isinstance(before, str) and isinstance(part, list):
        return [*([{"type": "text", "text": before}] if before else []), *part]
    return part


def _first_choice(choices: object) -> JsonObject | None:
    """Returns the chunk's part of the first choice, or None."""
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and str(choice.get("index") or 0) == "0":
            return choice
    return None
