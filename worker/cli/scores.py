"""Small computations on result records."""

from __future__ import annotations

import re
from datetime import datetime

from worker.core.records import JsonObject

_GROUPED = re.compile(r"(?<=\d)[,.'’\u00a0\u202f ](?=\d{3}(?!\d))")


def holds(answer: str, expected: str) -> bool:
    """Returns whether the answer contains the expected text as a whole; digits may be grouped (`1,234`, `1 234`)."""
    # Latin letters only, because other scripts write numbers next to words without a space.
    alone = re.compile(rf"(?<![A-Za-z0-9\-−])(?<!\d[.,]){re.escape(expected)}(?![A-Za-z0-9]|[.,]\d)", re.IGNORECASE)
    return bool(alone.search(answer) or alone.search(_GROUPED.sub("", answer)))


def seconds_taken(record: JsonObject) -> float | None:
    """Returns seconds from admission to the end; None if the run has not ended."""
    if not record["started_at"] or not record["finished_at"]:
        return None
    began, ended = (datetime.fromisoformat(record[name]) for name in ("started_at", "finished_at"))
    return (ended - began).total_seconds()
