"""`stepmill models` against a real API."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("api_url")


def test_an_unknown_model_is_named_with_those_there_are(stepmill: Run) -> None:
    ran = stepmill("models", "pause", "gpt-nobody")
    assert ran.code == 2
    assert "There is no model 'gpt-nobody'." in ran.err
    assert "Known models:" in ran.err


def test_a_model_is_paused_with_a_reason_and_resumed(stepmill: Run) -> None:
    paused = stepmill("models", "pause", "gpt-idle", "--reason", "too dear")
    assert paused.code == 0, paused.err
    assert "gpt-idle at http://127.0.0.1:9/v1 is paused." in paused.out
    assert "was paused already" in stepmill("models", "pause", "gpt-idle").out
    row = next(line for line in stepmill("models").out.splitlines() if line.startswith("gpt-idle"))
    assert row.split("\t")[2:4] == ["paused", "too dear"]
    assert "is open" in stepmill("models", "resume", "gpt-idle").out
