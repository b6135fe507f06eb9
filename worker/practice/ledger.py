"""Records what the practice model served, one entry per request, so that tests can compare it with what was charged."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from typing import Any

_KEPT_ENTRIES = 500_000


@dataclass(slots=True)
class Entry:
    """One request. Tokens count as billed: a request that reached the model is billed, even if its reply was lost."""

    n: int
    request_id: str
    model: str
    stream: bool = False
    form: str = ""
    status: int = 0
    """The status sent; 0 if the connection ended before that."""
    outcome: str = "pending"
    """`ok`, the fault that occurred, `limited`, or `quirk` if a quirk refused the request."""
    quirks: list[str] = field(default_factory=list)
    """The quirks applied to it."""
    untidy: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    started_at: float = field(default_factory=time.time)
    finished_at: float | None = None
    started_mono_s: float = field(default_factory=time.monotonic)
    finished_mono_s: float | None = None
    client_gone: bool = False
    """Whether the client disconnected before the last byte was sent."""
    messages: list[Any] | None = None
    reply: Any = None


class Ledger:
    """The entries, newest last, and counters over all of them."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=_KEPT_ENTRIES)
        self.by_status: Counter[str] = Counter()
        self.by_outcome: Counter[str] = Counter()
        self.totals: Counter[str] = Counter()
        self.in_flight = 0
        self.in_flight_most = 0

    def open(self, request_id: str, model: str) -> Entry:
        entry = Entry(self.totals["requests"] + 1, request_id, model)
        self.totals["requests"] += 1
        self.entries.append(entry)
        self.in_flight += 1
        self.in_flight_most = max(self.in_flight_most, self.in_flight)
        return entry

    def close(self, entry: Entry, client_gone: bool) -> None:
        """Records the end of a request, once."""
        entry.finished_at, entry.finished_mono_s = time.time(), time.monotonic()
        entry.client_gone = client_gone
        self.in_flight = max(0, self.in_flight - 1)
        self.by_status[str(entry.status)] += 1
        self.by_outcome[entry.outcome] += 1
        self.totals["client_gone"] += client_gone
        self.totals["prompt_tokens"] += entry.prompt_tokens
        self.totals["cached_tokens"] += entry.cached_tokens
        self.totals["completion_tokens"] += entry.completion_tokens

    def listed(self, after: int = 0, request_id: str | None = None) -> list[dict[str, Any]]:
        """Returns entries numbered above `after`; only those of one request id if given."""
        return [asdict(entry) for entry in self.entries if entry.n > after and request_id in (None, entry.request_id)]

    def stats(self) -> dict[str, Any]:
        return {
            "requests": self.totals["requests"],
            "served": self.by_status["200"],
            "in_flight": self.in_flight,
            "in_flight_most": self.in_flight_most,
            "by_status": dict(self.by_status),
            "by_outcome": dict(self.by_outcome),
            "client_gone": self.totals["client_gone"],
            "prompt_tokens": self.totals["prompt_tokens"],
            "cached_tokens": self.totals["cached_tokens"],
            "completion_tokens": self.totals["completion_tokens"],
        }
