"""What each endpoint and model refuses of a request, learned from its own error once and then left out."""

from __future__ import annotations

import re
import threading

from worker.core.records import JsonObject
from worker.llm.errorbody import read_error

DROPPABLE = ("temperature", "stop")
"""Reasoning models refuse these; an answer without them is as good."""

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
"""Two names for one limit. It is renamed and never dropped: reservations of money rely on it."""

_REFUSED = re.compile(
    r"unsupported[_ ](?:parameter|value)|not supported|does not support|not permitted|extra_forbidden"
    r"|unrecognized|unknown (?:parameter|field)|not allowed|deprecated",
    re.IGNORECASE,
)


class Quirks:
    """Thread-safe memory of (base URL, model) → request fields to drop or rename."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refused: dict[tuple[str, str], frozenset[str]] = {}

    def apply(self, base_url: str, body: JsonObject) -> JsonObject:
        """The body as this endpoint takes it; the given one is not changed."""
        refused = self._refused.get((base_url, str(body.get("model"))), frozenset())
        if not refused:
            return body
        kept = {name: value for name, value in body.items() if name not in refused}
        old, new = OUTPUT_LIMITS
        if old in refused and old in body:
            kept.setdefault(new, body[old])
        if new in refused and new in body:
            kept.setdefault(old, body[new])
        return kept

    def learn(self, base_url: str, sent: JsonObject, status: int, error: object) -> str | None:
        """The field that the endpoint refused and that `apply` will leave out from now on; None: it is another fault.

        Only a field that was sent is named, and each goes for good, so that sending anew ends after a few times.
        """
        if status not in (400, 422):
            return None
        name = _refused_name(sent, error)
        if name is None:
            return None
        key = (base_url, str(sent.get("model")))
        with self._lock:
            refused = self._refused.get(key, frozenset())
            if name in OUTPUT_LIMITS and refused & (set(OUTPUT_LIMITS) - {name}):
                return None  # both names are refused: the limit itself is at fault
            self._refused[key] = refused | {name}
        return name


def _refused_name(sent: JsonObject, error: object) -> str | None:
    read = read_error(error)
    if not _REFUSED.search(read.words):
        return None
    candidates = [name for name in (*DROPPABLE, *OUTPUT_LIMITS) if name in sent]
    if read.param:
        return read.param if read.param in candidates else None
    named = [name for name in candidates if re.search(rf"\b{name}\b", read.message)]
    if set(named) == {"max_tokens"} or len(named) == 1:
        return named[0]
    return None
