"""`stepmill batch estimate`: what a file would take, judging by a few of its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_live import BATCH
from worker.cli.batches.estimate import count_questions, extrapolate
from worker.core.errors import UserError

CANARY = {
    **BATCH,
    "counts": {"queued": 0, "active": 0, "succeeded": 4, "failed": 1, "cancelled": 0},
    "usage": {"prompt_tokens": 900, "cached_tokens": 0, "completion_tokens": 100},
    "cost_usd": 0.05,
}


def test_tokens_cost_and_time_grow_with_the_questions() -> None:
    estimate = extrapolate(CANARY, questions=5000, took_s=10.0)
    assert (estimate.canary, estimate.tokens) == (5, 1_000_000)
    assert estimate.cost_usd == pytest.approx(50.0)
    assert estimate.seconds_at_most == pytest.approx(10_000.0)
    assert estimate.failed_share == pytest.approx(0.2)


def test_an_unknown_price_stays_unknown() -> None:
    assert extrapolate({**CANARY, "cost_usd": None}, 5000, 10.0).cost_usd is None


def test_questions_are_counted_as_they_will_be_read(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text('title,id\n"a\nb",1\nc,2\n')
    (tmp_path / "q.txt").write_text("one\n\ntwo\n")
    assert count_questions(str(tmp_path / "q.csv"), None, "Classify {title}") == 2
    assert count_questions(str(tmp_path / "q.txt"), None, None) == 2


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(UserError, match="holds no question"):
        count_questions(str(tmp_path / "empty.txt"), None, None)
