"""What a quirk is, and what it can see of the request that it changes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from worker.practice.http import Request
from worker.practice.records import Completion, Conversation

T = TypeVar("T")
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Wire:
    """A response, as its bytes."""

    data: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)


def refusal(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Wire:
    """Returns an error response; `body` is text, or a value to write as JSON."""
    if isinstance(body, str) and not body.lstrip().startswith(("{", "[")):
        kind = "text/html" if body.lstrip().startswith("<") else "text/plain"
        return Wire(body.encode(), status, {"content-type": kind, **(headers or {})})
    data = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return Wire(data.encode(), status, {**JSON, **(headers or {})})


def bad_request(message: str, *, status: int = 400, param: str | None = None, code: str | None = None) -> Wire:
    """Returns a refusal in the chat API's form."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return refusal(status, {"error": error})


@dataclass(slots=True)
class Asked:
    """One request as one quirk sees it.

    `seen` counts earlier requests with exactly these messages; `memory` belongs to the quirk, kept for the whole
    conversation. `sample` is the wording that the address asks for, from 1; None: one is drawn for each turn.
    """

    request: Request
    body: Mapping[str, Any]
    conversation: Conversation
    prompt_tokens: int
    seen: int
    memory: dict[str, Any]
    seed: str
    sample: int | None = None

    def pick(self, samples: Sequence[T]) -> T:
        """Returns one of the samples; always the same one for the same turn."""
        if self.sample is not None:
            return samples[(self.sample - 1) % len(samples)]
        return random.Random(self.seed).choice(samples)

    @property
    def fresh(self) -> bool:
        """Whether a fault that only hits the first try hits this one: every other time, so that a question asked again
        is hit again, but never after the model was told to correct its reply."""
        return self.seen % 2 == 0 and not self.conversation.corrected

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [message for message in self.body.get("messages", ()) if isinstance(message, dict)]

    @property
    def output_limit(self) -> int:
        """Returns the most tokens that the request lets the model write; 0 if it names no limit."""
        return int(self.body.get("max_completion_tokens") or self.body.get("max_tokens") or 0)


def _no_refusal(asked: Asked) -> Wire | None:
    return None


def _no_change(asked: Asked, completion: Completion) -> None:
    return None


def _no_writing(asked: Asked, completion: Completion) -> Wire | None:
    return None


@dataclass(frozen=True, slots=True)
class Quirk:
    """One way in which real endpoints deviate, and what should become of a question that meets it.

    `end` is `answered`, `paused` (the endpoint, while no run fails) or `error:CODE`; alternatives are separated by `|`.
    `native_end` replaces it if tools are sent as the API's own. `query` is what the base URL must contain.
    `refuse` answers instead of the model, `change` alters the completion, `write` returns the bytes of a whole reply.
    """

    name: str
    about: str
    end: str = "answered"
    native_end: str = ""
    samples: int = 1
    query: str = ""
    refuse: Callable[[Asked], Wire | None] = _no_refusal
    change: Callable[[Asked, Completion], None] = _no_change
    write: Callable[[Asked, Completion], Wire | None] = _no_writing

    def as_json(self) -> dict[str, Any]:
        """Returns what is shown to people."""
        ends = {"end": self.end} | ({"native_end": self.native_end} if self.native_end else {})
        return {"name": self.name, "about": self.about, "samples": self.samples, **ends}
