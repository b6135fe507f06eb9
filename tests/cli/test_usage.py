"""`stepmill usage`, and budgets on the command line, against a real API."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from worker.cli.usage import COLUMNS

pytestmark = pytest.mark.usefixtures("api_url")


def test_usage_is_a_table_of_days(stepmill: Run) -> None:
    ran = stepmill("usage", "--days", "3")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0] == "\t".join(COLUMNS)
    assert isinstance(stepmill("usage", "--json").json, list)
    assert stepmill("usage", "--days", "0").code == 2


def test_a_budget_needs_the_price_of_the_model(stepmill: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("What is 1 + 1?\n")
    refused = stepmill("batch", "submit", str(questions), "--agent", "idle", "--budget", "5.00")
    assert refused.code == 2
    assert "The price of the model 'gpt-idle' is not known" in refused.err and "STEPMILL_PRICES_FILE" in refused.err


def test_a_budget_is_shown_beside_the_cost_and_can_be_raised(stepmill: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("What is 2 + 2?\n")
    said = ("--agent", "idle", "--model", "gpt-4.1", "--budget", "5.00", "--json")
    batch_id = stepmill("batch", "submit", str(questions), *said).json["batch_id"]
    assert "$0.0000 of $5.0000" in stepmill("batch", "status", batch_id).out
    resumed = stepmill("batch", "resume", batch_id, "--budget", "7.5", "--json").json
    assert resumed["budget_usd"] == 7.5
    lower = stepmill("batch", "resume", batch_id, "--budget", "1")
    assert lower.code == 2 and "only be raised" in lower.err
    stepmill("batch", "cancel", batch_id)
