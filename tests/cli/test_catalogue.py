"""`stepmill tools` and `agents`: the lists, and a tool or a prompt tried by hand."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Run, clean_environment
from worker.local.plan import STEPMILL


def test_tools_lists_each_with_its_queue(stepmill: Run) -> None:
    rows = [line.split("\t") for line in stepmill("tools").out.splitlines()]
    assert rows[0][:2] == ["tool", "queue"]
    assert ["calculator", "tools.local"] in [row[:2] for row in rows]


def test_tools_as_json_has_the_schemas(stepmill: Run) -> None:
    items = stepmill("tools", "--json").json["items"]
    calculator = next(item for item in items if item["name"] == "calculator")
    assert calculator["parameters"]["required"] == ["expression"]


def test_a_tool_module_that_cannot_be_loaded_is_told(stepmill: Run) -> None:
    ran = stepmill("tools", STEPMILL_TOOL_MODULES="no_such_module")
    assert ran.code == 0
    assert "Refused: no_such_module" in ran.err


@pytest.mark.parametrize("args", ['{"expression": "6 * 7"}', "6 * 7"])
def test_a_tool_is_called_by_hand(stepmill: Run, args: str) -> None:
    assert "42" in stepmill("tools", "call", "calculator", "--args", args).out


def test_a_call_with_wrong_arguments_says_what_is_allowed(stepmill: Run) -> None:
    ran = stepmill("tools", "call", "calculator", "--args", '{"formula": "1"}')
    assert ran.code == 1
    assert "expression" in ran.err


LIMITED = '''
import subprocess, threading, time
from tools.base import tool

@tool(timeout_s=0.5)
def stuck(how: str) -> str:
    """Does not end."""
    print("printed")
    if how == "process":
        subprocess.run(["sleep", "60"])
    if how == "thread":
        threading.Thread(target=time.sleep, args=(60,)).start()
        return "left"
    while True:
        try:
            time.sleep(60)
        except Exception:
            if how != "stubborn":
                raise
'''


@pytest.mark.parametrize(
    ("how", "code", "out", "err"),
    [
        ("sleep", 1, "", "stuck did not finish within 0.5 s."),
        ("process", 1, "", "stuck did not finish within 0.5 s."),
        ("stubborn", 1, "", "It did not let itself be interrupted and was killed."),
        ("thread", 0, "left\n", "printed"),
    ],
)
def test_a_call_by_hand_ends_at_the_tools_limit_and_prints_only_what_a_model_reads(
    tmp_path: Path, how: str, code: int, out: str, err: str
) -> None:
    (tmp_path / "limited.py").write_text(LIMITED)
    env = clean_environment() | {"STEPMILL_TOOL_MODULES": "./limited.py"}
    started = time.monotonic()
    argv = [*STEPMILL, "tools", "call", "stuck", "--args", how]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (code, out)
    assert err in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - started < 30


def test_an_unknown_tool_is_named(stepmill: Run) -> None:
    assert "There is no tool 'oracle'." in stepmill("tools", "show", "oracle").err


def test_agents_lists_each_with_model_and_dialect(stepmill: Run) -> None:
    ran = stepmill("agents")
    assert ["assistant", "practice", "react_json"] in [line.split("\t")[:3] for line in ran.out.splitlines()]
    assert "practice mode" in ran.err


def test_an_agent_shows_what_it_sends(stepmill: Run) -> None:
    ran = stepmill("agents", "show", "travel", "--prompt", "--question", "Where to in Rome?")
    assert "get_attraction(" in ran.out
    assert ran.out.rstrip().endswith("Where to in Rome?")
    sent = stepmill("agents", "show", "travel", "--prompt", "--json").json
    assert sent[0]["role"] == "system"


def test_an_agent_of_ones_own_is_listed_with_its_model(stepmill: Run, tmp_path: Path) -> None:
    (tmp_path / "agents.toml").write_text('[agents.mine]\nmodel = "gpt-x"\ntools = ["calculator"]\n')
    body = json.loads(stepmill("agents", "show", "mine", STEPMILL_AGENTS_FILE="agents.toml").out)
    assert (body["model"], body["simulated"]) == ("gpt-x", False)
