"""No text from a model, a tool, a file or the web controls the terminal, whichever command prints it."""

from __future__ import annotations

import ast
import errno
import io
import json
import logging
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console as RichConsole

from tests.cli.conftest import Run, clean_environment
from worker.cli.errors import Refusal
from worker.cli.events import Event
from worker.cli.live import view
from worker.cli.narrator import Narrator, tell_result
from worker.cli.output import print_json, print_table
from worker.local.output import Console
from worker.local.plan import STEPMILL
from worker.logs import write_out
from worker.terminal import safe, safe_json

HOSTILE = "\x1b]0;owned\x07\x1b[2J[red]x[/red]\r\x9b31m\u202egnp.exe\x00\u2066\x7f\u2028\U000e0041"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
OWN_STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]")
WORKER = Path(__file__).resolve().parents[2] / "worker"
USAGE = {"prompt_tokens": 1, "completion_tokens": 1}
RECORD: dict[str, Any] = {
    "status": "failed", "error": {"message": HOSTILE, "code": "internal"}, "partial_answer": HOSTILE, "steps": 1,
    "usage": USAGE, "cost_usd": 0.0, "wasted": {"tokens": 0}, "model": HOSTILE, "run_id": "run_1", "answer": HOSTILE,
}  # fmt: skip
BATCH: dict[str, Any] = {
    "batch_id": "batch_1", "state": "open", "paused_reason": HOSTILE, "total": 2, "usage": USAGE, "cost_usd": 0.0,
    "counts": {"succeeded": 0, "failed": 1, "cancelled": 0}, "wasted": {"tokens": 0}, "errors": {HOSTILE: 1},
    "waiting": [{"runs": 1, "reason": HOSTILE}],
}  # fmt: skip


def assert_harmless(text: str) -> None:
    left = OBEYED.findall(OWN_STYLE.sub("", text))
    assert left == [], (left, text)
    assert "owned" in text


@given(st.text())
def test_what_is_left_is_harmless_and_plain_text_stays_as_it_is(text: str) -> None:
    assert not OBEYED.search(safe(text).replace("\r\n", "\n"))
    if not OBEYED.search(text):
        assert safe(text) == text


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_a_json_document_means_the_same(value: Any) -> None:
    written = safe_json(json.dumps(value, ensure_ascii=False))
    assert not OBEYED.search(written)
    assert json.loads(written) == value


def test_controls_are_written_out_and_languages_are_not() -> None:
    assert safe("a\x1b[1mb\r\nc\td\x00") == "a\\x1b[1mb\nc\td\\x00"
    assert safe("\u202e\U000e0041\ud83d") == "\\u202e\\U000e0041\\ud83d"
    assert safe("שלום 你好 مرحبا é 👩‍🔬\u200f") == "שלום 你好 مرحبا é 👩‍🔬\u200f"


def test_no_command_prints_but_through_the_one_edge() -> None:
    """`print` and click's own functions stand in `worker/terminal.py` alone."""
    found = []
    for file in [*WORKER.glob("cli/**/*.py"), *WORKER.glob("local/**/*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"click.echo", "click.secho", "click.style"}:
                found.append(f"{file.name}:{node.lineno}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and file.name != "child.py":
                found.append(f"{file.name}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize(
    "event",
    [
        Event("status", {"waiting": HOSTILE}),
        Event("step", {"step": 1, "thought": HOSTILE, "calls": [{"tool": HOSTILE, "args": {"a": HOSTILE}}]}),
        Event("step", {"step": 1, "calls": [{"tool": "t", "args": HOSTILE}], "notice": HOSTILE}),
        Event("observation", {"observation": HOSTILE}),
        Event("attempt_failed", {"attempt": 1, "error": HOSTILE}),
        Event("end", RECORD),
        Event("end", RECORD | {"status": "succeeded"}),
    ],
)
def test_a_narrated_run_is_harmless(event: Event, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 0.0, 9.0, 9.0, 18.0, 18.0])
    narrator = Narrator(lambda: next(clock))
    narrator.tell(event)
    if event.kind == "status":
        narrator.tell(event)
    assert_harmless(capsys.readouterr().out)


def test_results_tables_and_refusals_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    shows: tuple[Callable[[], None], ...] = (
        lambda: tell_result(RECORD),
        lambda: print_table(("a",), [(HOSTILE,)]),
        lambda: print_table(("a",), [(HOSTILE,)], drawn=True),
        lambda: print_json({"a": HOSTILE}),
        lambda: Refusal(HOSTILE, HOSTILE).show(),
    )
    for show in shows:
        show()
        captured = capsys.readouterr()
        assert_harmless(captured.out + captured.err)
    print_table(("a",), [("[bold]x[/bold]",)], drawn=True)
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_the_live_view_is_harmless_and_takes_no_markup() -> None:
    stream = io.StringIO()
    RichConsole(file=stream, force_terminal=True, width=300).print(view(BATCH))
    assert_harmless(stream.getvalue())
    assert "[red]x[/red]" in stream.getvalue()


def test_what_services_and_workers_log_is_harmless() -> None:
    stream = io.StringIO()
    Console(stream).line("worker", HOSTILE)
    handler = logging.StreamHandler(stream)
    logger = logging.Logger("of the test")
    logger.addHandler(handler)
    write_out(logger)
    logger.warning("%s failed", HOSTILE)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logger.exception("and this")
    assert_harmless(stream.getvalue())


TOOL = '''
from tools.base import ToolError, tool

@tool
def hostile(how: str) -> str:
    """Does harm: {text}"""
    if how == "fail":
        raise ToolError("{text}")
    print("{text}")
    return "{text}"
'''


@pytest.fixture
def hostile_tool(tmp_path: Path) -> Path:
    (tmp_path / f"harm_{tmp_path.name}.py").write_text(
        TOOL.format(text=HOSTILE.encode("unicode_escape").decode()), "utf-8"
    )
    return tmp_path


@pytest.mark.usefixtures("hostile_tool")
@pytest.mark.parametrize(
    "args",
    [
        ("tools",),
        ("tools", "--json"),
        ("tools", "show", "hostile"),
        ("tools", "call", "hostile", "--args", "x"),
        ("tools", "call", "hostile", "--args", "fail"),
        ("tools", "show", HOSTILE.replace("\x00", "")),
        ("agents", "show", "harm", "--prompt"),
        ("agents", "show", "harm"),
        ("parse", "--dialect", HOSTILE.replace("\x00", "")),
        (HOSTILE.replace("\x00", ""),),
    ],
)
def test_commands_that_need_no_service_are_harmless(stepmill: Run, tmp_path: Path, args: tuple[str, ...]) -> None:
    written = "".join(f"\\U{ord(character):08x}" for character in HOSTILE)
    (tmp_path / "agents.toml").write_text(f'[agents.harm]\ntools = ["hostile"]\ninstructions = "{written}"\n')
    ran = stepmill(*args, STEPMILL_TOOL_MODULES=str(tmp_path), STEPMILL_AGENTS_FILE="agents.toml")
    assert_harmless(ran.out + ran.err)


@pytest.mark.parametrize("options", [(), ("--jsonl",)])
def test_a_parsed_reply_is_harmless_and_means_the_same(stepmill: Run, options: tuple[str, ...]) -> None:
    reply = f"Thought: {HOSTILE}\nAnswer: {HOSTILE}"
    given = json.dumps({"output": reply, "tools": []}) if options else reply
    ran = stepmill("parse", "--dialect", "react_json", *options, stdin=given)
    assert_harmless(ran.out)
    assert "owned" in json.loads(ran.out)["answer"]


@pytest.mark.slow
def test_a_run_on_a_real_terminal_is_harmless(hostile_tool: Path) -> None:
    env = clean_environment() | {"STEPMILL_TOOL_MODULES": ".", "STEPMILL_AGENTS_FILE": "agents.toml"}
    (hostile_tool / "agents.toml").write_text('[agents.harm]\ntools = ["hostile"]\n')
    shown = _on_a_terminal(["ask", "--agent", "harm", "Use hostile(how='x') and tell me."], hostile_tool, env)
    assert "Answer:" in shown
    assert_harmless(shown.replace("\r\n", "\n"))


def _on_a_terminal(args: list[str], directory: Path, env: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen([*STEPMILL, *args], cwd=directory, env=env, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        process.wait(timeout=60)
    return shown.decode("utf-8", "replace")


def _read(terminal: int) -> bytes:
    """What was written to a terminal; nothing where its last writer is gone, which it tells by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return b""
