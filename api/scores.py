"""Exact match and F1 of a batch, computed on demand and cached until more runs have ended."""

from __future__ import annotations

from typing import Any

from worker.results.scoring import Score
from worker.store.queries.runs import Filter, all_of_batch
from worker.store.session import AnyRow, Store

OPEN_UP_TO = 20_000
"""Batches with more runs are scored only once they have ended, because scoring reads every run."""
_KEPT = 1_000

Shares = dict[str, float | int] | None


class Scores:
    """Caches the scores of batches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[Any, ...], Shares] = {}

    def of(self, batch: AnyRow) -> Shares:
        """Returns the scores over a batch's ended runs with an expected answer, or None if there are none (yet)."""
        ended = batch.succeeded + batch.failed + batch.cancelled
        if not ended or (batch.finished_at is None and batch.total > OPEN_UP_TO):
            return None
        key = (batch.id, batch.succeeded, batch.failed, batch.cancelled, batch.finished_at)
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._count(batch.id)
        return self._known[key]

    def _count(self, batch_id: str) -> Shares:
        score = Score()
        for page in all_of_batch(self._store, Filter(batch_id=batch_id, only=("ended",))):
            for run in page:
                if run.expected is not None:
                    score.add(run.answer if run.state == "succeeded" else None, run.expected)
        return score.as_dict()
