"""Errors from the table in `errors.toml`: which requests get one, and what it contains."""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

from worker.practice.brain import think
from worker.practice.quirks.base import Asked, Quirk, Wire, refusal
from worker.practice.records import Act

TABLE = Path(__file__).with_name("errors.toml")
MARK = "{{"
_SPARE_TOKENS = 500


@dataclass(frozen=True, slots=True)
class Sample:
    """One wording; `body` and `headers` contain placeholders in braces."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One table in `errors.toml`."""

    when: str
    samples: tuple[Sample, ...]
    wait_s: float = 0.0
    on: str = ""

    def refuse(self, asked: Asked) -> Wire | None:
        """Returns the error for this request, or None."""
        if not _STRIKES[self.when](self, asked):
            return None
        if self.on == "action" and not isinstance(think(asked.conversation), Act):
            return None
        sample = asked.pick(self.samples)
        values = _values(self, asked)
        headers = {name: _filled(value, values) for name, value in sample.headers.items()}
        return refusal(sample.status, _filled(sample.body, values), headers)


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), text)


def _always(kind: ErrorKind, asked: Asked) -> bool:
    return True


def _once(kind: ErrorKind, asked: Asked) -> bool:
    return asked.fresh


def _wait(kind: ErrorKind, asked: Asked) -> bool:
    """Refuses from the first request until the wait is over; then lets the conversation pass for a minute."""
    now = time.time()
    if now > asked.memory.get("until", 0.0) + 60:
        asked.memory["until"] = now + kind.wait_s
    return bool(now < asked.memory["until"])


def _over(kind: ErrorKind, asked: Asked) -> bool:
    return asked.prompt_tokens > _window(asked)


def _window(asked: Asked) -> int:
    return int(asked.memory.setdefault("prompt", asked.prompt_tokens)) + _SPARE_TOKENS


def _marked(kind: ErrorKind, asked: Asked) -> bool:
    return MARK in asked.conversation.question


_STRIKES: Mapping[str, Callable[[ErrorKind, Asked], bool]] = {
    "always": _always,
    "once": _once,
    "wait": _wait,
    "over": _over,
    "marked": _marked,
}


def _values(kind: ErrorKind, asked: Asked) -> dict[str, str]:
    at_s = float(asked.memory.get("until") or time.time() + kind.wait_s)
    minutes, seconds = divmod(round(kind.wait_s), 60)
    values = {
        "model": str(asked.body.get("model")),
        "key": asked.request.headers.get("authorization", "").removeprefix("Bearer "),
        "prompt": str(asked.prompt_tokens),
        "window": str(_window(asked)),
        "wait_s": f"{kind.wait_s:g}",
        "wait_ms": f"{kind.wait_s * 1000:.0f}",
        "wait_go": f"{minutes // 60}h{minutes % 60}m{seconds}s",
        "at_s": f"{at_s + 1:.0f}",
        "at_ms": f"{at_s * 1000:.0f}",
        "at_iso": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s)),
        "at_http": formatdate(at_s, usegmt=True),
    }
    intent = think(asked.conversation)
    if isinstance(intent, Act):
        call = intent.calls[0]
        values |= {"tool": call.tool, "args_escaped": json.dumps(json.dumps(call.args))[1:-1]}
    return values


def _kind(table: Mapping[str, Any]) -> ErrorKind:
    samples = tuple(Sample(**sample) for sample in table["samples"])
    return ErrorKind(table["when"], samples, float(table.get("wait_s", 0)), table.get("on", ""))


def _quirks() -> Sequence[Quirk]:
    tables = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [
        Quirk(
            name,
            table["about"],
            table.get("end", "answered"),
            samples=len(table["samples"]),
            refuse=_kind(table).refuse,
        )
        for name, table in tables.items()
    ]


QUIRKS = tuple(_quirks())
