"""Deliberate faults: decides which one a request gets, by script or by rate."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

_STATUS_NAMES = {
    "429": "rate_limit", "500": "server_error", "503": "unavailable", "401": "bad_key", "403": "forbidden",
    "404": "unknown_model", "400": "bad_request",
}  # fmt: skip
REFUSALS: Mapping[str, tuple[int, str, str, str]] = {
    "rate_limit": (429, "rate_limit_error", "rate_limit_exceeded", "Rate limit reached for this model."),
    "quota": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "server_error": (500, "server_error", "server_error", "The server had an error while processing the request."),
    "unavailable": (503, "server_error", "overloaded", "The engine is overloaded, please try again later."),
    "bad_key": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "forbidden": (403, "permission_error", "permission_denied", "This key may not use this model."),
    "unknown_model": (404, "invalid_request_error", "model_not_found", "The model does not exist."),
    "context_length": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "The context is longer than this model takes.",
    ),
    "bad_request": (400, "invalid_request_error", "invalid_value", "The request is not accepted."),
    "filtered_prompt": (
        400,
        "invalid_request_error",
        "content_filter",
        "The prompt was refused by the content filter.",
    ),
}
"""Faults that are an error response: status, type, code, message."""
CHANGES = ("content_filter", "length", "empty", "refusal")
"""Faults that change the reply."""
TRANSPORT = ("timeout", "drip", "drop", "drop_mid", "cut_stream", "garbage", "slow")
"""Faults of the connection. Dropped streams are cut as whole ones are."""
KINDS = (*REFUSALS, *CHANGES, *TRANSPORT)


@dataclass(slots=True)
class Fault:
    """One fault and the requests that get it.

    `rate` is the share of requests, `times` the maximum number; `model` and `match` (a piece of the conversation)
    restrict it. `seconds` is the delay of `slow` and the gap between bytes of `drip`.
    """

    kind: str
    rate: float = 1.0
    times: int | None = None
    model: str | None = None
    match: str | None = None
    retry_after: str | None = None
    retry_after_ms: int | None = None
    seconds: float = 0.2

    def headers(self) -> dict[str, str]:
        """Returns `retry-after` and `retry-after-ms` as set; a rate limit without either says one second."""
        found = {}
        if self.retry_after is not None:
            found["retry-after"] = self.retry_after
        if self.retry_after_ms is not None:
            found["retry-after-ms"] = str(self.retry_after_ms)
        if not found and self.kind == "rate_limit":
            found["retry-after"] = "1"
        return found

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def fault_from(spec: str | Mapping[str, Any]) -> Fault:
    """Parses `kind[:rate][,name=value…]` or an object with the same names. ValueError says what is wrong."""
    values = _from_text(spec) if isinstance(spec, str) else dict(spec)
    known = {field.name for field in fields(Fault)}
    if unknown := set(values) - known:
        raise ValueError(f"a fault has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    values["kind"] = _STATUS_NAMES.get(str(values.get("kind")), values.get("kind"))
    if values["kind"] not in KINDS:
        raise ValueError(f"unknown fault {values['kind']!r}; there are {', '.join(KINDS)}")
    fault = Fault(**values)
    if not 0 <= fault.rate <= 1:
        raise ValueError(f"the rate of a fault is between 0 and 1, not {fault.rate}")
    return fault


def _from_text(spec: str) -> dict[str, Any]:
    head, *rest = (part.strip() for part in spec.split(","))
    kind, _, rate = head.partition(":")
    values: dict[str, Any] = {"kind": kind.strip()}
    convert = {"rate": float, "times": int, "retry_after_ms": int, "seconds": float}
    try:
        if rate:
            values["rate"] = float(rate)
        for part in rest:
            name, _, value = part.partition("=")
            values[name] = convert.get(name, str)(value)
    except ValueError as error:
        raise ValueError(
            f"fault {spec!r} is not understood; write KIND[:RATE][,name=value], such as 429:0.1,retry_after=2"
        ) from error
    return values


class FaultPlan:
    """Picks a fault for each request: first from the script, one entry per request (`ok` for none), then by rate."""

    def __init__(self, faults: Iterable[Fault], script: Iterable[str | Mapping[str, Any]], seed: int) -> None:
        self._faults = list(faults)
        self._left = {id(fault): fault.times for fault in self._faults}
        self._script = deque(None if entry == "ok" else fault_from(entry) for entry in script)
        self._source = random.Random(seed)

    def next(self, model: str, conversation: str) -> Fault | None:
        """Returns the fault for this request, or None."""
        if self._script:
            return self._script.popleft()
        for fault in self._faults:
            if self._strikes(fault, model, conversation):
                return fault
        return None

    def _strikes(self, fault: Fault, model: str, conversation: str) -> bool:
        left = self._left[id(fault)]
        if left == 0 or (fault.model and fault.model != model) or (fault.match and fault.match not in conversation):
            return False
        if fault.rate < 1 and self._source.random() >= fault.rate:
            return False
        if left is not None:
            self._left[id(fault)] = left - 1
        return True
