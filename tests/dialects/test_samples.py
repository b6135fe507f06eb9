"""The published samples are parsed correctly by the command that a person would use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.dialects.outcomes import TOOLS
from worker.cli.parse import parse_command

LINES = Path(__file__).with_name("cases.jsonl").read_text(encoding="utf-8").strip("\n").split("\n")
SAMPLES = [json.loads(line) for line in LINES]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Any]]:
    done = CliRunner().invoke(parse_command, ["--jsonl"], input="\n".join(LINES) + "\n")
    assert done.exit_code == 0, done.output
    read = [json.loads(line) for line in done.output.splitlines()]
    return {sample["id"]: outcome for sample, outcome in zip(SAMPLES, read, strict=True)}


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["id"] for sample in SAMPLES])
def test_a_sample_comes_out_as_wanted(sample: dict[str, Any], outcomes: dict[str, dict[str, Any]]) -> None:
    outcome = outcomes[sample["id"]]
    wanted = [sample["expect"], *sample.get("also_accept", [])]
    assert any(_fits(outcome, one) for one in wanted), f"{sample['output']!r} came out as {outcome}"


def _fits(outcome: dict[str, Any], wanted: dict[str, Any]) -> bool:
    if outcome["kind"] != wanted["kind"]:
        return False
    if (wanted.get("thought_contains") or "") not in outcome["thought"]:
        return False
    return bool(
        outcome["tool"] == wanted["tool"]
        and outcome["answer"] == wanted["answer"]
        and _object(outcome["args"], wanted["tool"]) == _object(wanted["args"], wanted["tool"])
    )


def _object(args: Any, tool: str | None) -> Any:
    parameter = TOOLS[tool].text_parameter if tool in TOOLS else None
    return {parameter: args} if isinstance(args, str) and parameter else args
