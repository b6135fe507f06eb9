"""The entry of the command line: quick help, and errors that are a sentence and a hint."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from redis.exceptions import ConnectionError as RedisAway
from sqlalchemy.exc import OperationalError

from tests.cli.conftest import Run, clean_environment
from worker.cli.errors import refusal
from worker.cli.main import COMMANDS, cli
from worker.cli.output import note_practice
from worker.core.errors import UserError
from worker.local.errors import PortInUse, ServiceFailed
from worker.settings import settings

SLOW = ("sqlalchemy", "celery", "kombu", "openai", "pydantic", "httpx2", "redis", "fastapi", "rich", "alembic")


def test_the_help_names_every_command(stepmill: Run) -> None:
    ran = stepmill("--help")
    assert ran.code == 0
    assert all(f"\n  {name} " in ran.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_has_help(stepmill: Run, name: str) -> None:
    ran = stepmill(name, "--help")
    assert ran.code == 0, ran.err
    assert f"Usage: stepmill {name}" in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_subcommand_says_what_it_is_for(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for one in everything_below(command):
        assert one.help, one.name
        silent = [option.name for option in one.params if isinstance(option, click.Option) and not option.help]
        assert not silent, (one.name, silent)


def everything_below(command: click.Command) -> list[click.Command]:
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(one for sub in below for one in everything_below(sub))]


def test_help_imports_nothing_slow() -> None:
    program = (
        "import sys; from worker.cli.main import cli; cli(['--help'], standalone_mode=False);"
        f"print([name for name in {SLOW!r} if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env=clean_environment(), capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "[]"


def test_the_version_is_told(stepmill: Run) -> None:
    assert stepmill("--version").out.startswith("stepmill ")


def test_an_unknown_command_is_wrong_use(stepmill: Run) -> None:
    ran = stepmill("aks")
    assert ran.code == 2
    assert "No such command 'aks'" in ran.err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (UserError("It is wrong.", "Do it right."), 2, "It is wrong."),
        (UserError("It is away.", "Start it.", exit_code=3), 3, "It is away."),
        (PortInUse("port 5555 is in use by flower (pid 7)", "choose another"), 2, "Port 5555 is in use"),
        (ServiceFailed("redis ended with code 1"), 3, "Redis ended with code 1."),
        (RedisAway("Connection refused"), 3, "Redis cannot be reached"),
        (OperationalError("SELECT 1", {}, Exception("no such table: runs")), 3, "no such table: runs"),
        (FileNotFoundError(2, "No such file or directory", "q.jsonl"), 2, "q.jsonl: No such file or directory."),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "not UTF-8: byte 0"),
        (ZeroDivisionError("division by zero"), 1, "Unexpected ZeroDivisionError: division by zero"),
    ],
)
def test_every_error_is_one_sentence_with_an_exit_code(error: Exception, code: int, words: str) -> None:
    refused = refusal(error)
    assert refused.exit_code == code
    assert words in refused.message
    assert "\n" not in refused.message + refused.hint


def test_an_error_is_shown_with_its_hint_and_without_a_traceback(stepmill: Run) -> None:
    ran = stepmill("agents", STEPMILL_AGENTS_FILE="nowhere.toml")
    assert ran.code == 2
    assert ran.err.startswith("Error: The agents file nowhere.toml cannot be read")
    assert "Traceback" not in ran.err


def test_a_wrong_setting_is_named_by_its_variable(stepmill: Run) -> None:
    ran = stepmill("db", "check", STEPMILL_BEAT_S="soon")
    assert ran.code == 2
    assert "STEPMILL_BEAT_S is 'soon'" in ran.err


def test_an_interrupt_ends_with_130(stepmill: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("worker.cli.db.check_database", interrupted)
    ran = stepmill("db", "check")
    assert ran.code == 130
    assert "Traceback" not in ran.err


def test_the_practice_note_says_when_a_model_was_named_too_late(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    note_practice(True)
    assert "STEPMILL_MODEL names a model of yours" in capsys.readouterr().err
    monkeypatch.setenv("STEPMILL_MODEL", "my-model")
    settings.cache_clear()
    note_practice(True)
    assert "this began before STEPMILL_MODEL was set; after `stepmill down`" in capsys.readouterr().err
