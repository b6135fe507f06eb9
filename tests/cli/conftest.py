"""The command line in a directory of its own, and a real API for it to speak to."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from tests.services.process import ServerProcess
from tests.services.redis import RedisServer
from tests.services.waiting import wait_until
from worker.cli.main import cli
from worker.local.ports import free_port
from worker.settings import settings

FOREIGN = ("STEPMILL_", "OPENAI_")


def clean_environment() -> dict[str, str]:
    """This process's environment without what would steer stepmill."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No settings but a test's own, an empty directory, and no cached settings of another test."""
    for name in list(os.environ):
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


@dataclass(frozen=True)
class Ran:
    """What a command printed, and how it ended."""

    result: Result

    @property
    def code(self) -> int:
        return self.result.exit_code

    @property
    def out(self) -> str:
        return self.result.stdout

    @property
    def err(self) -> str:
        return self.result.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.result.stdout)


Run = Callable[..., Ran]


@pytest.fixture
def stepmill(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line in this process; keyword arguments are settings."""

    def run(*args: str, stdin: str | bytes | None = None, **env: str) -> Ran:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()
        return Ran(CliRunner().invoke(cli, list(args), input=stdin, prog_name="stepmill"))

    return run


@pytest.fixture(scope="session")
def served_api(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, redis_server: RedisServer
) -> Iterator[str]:
    """The address of a real `stepmill serve` over a database of its own. No worker runs: runs stay where they are."""
    directory = tmp_path_factory.mktemp("api")
    shutil.copyfile(sqlite_template, directory / "stepmill.db")
    port = free_port()
    (directory / "agents.toml").write_text('[agents.idle]\nmodel = "gpt-idle"\nbase_url = "http://127.0.0.1:9/v1"\n')
    env = {
        "STEPMILL_DATA_DIR": str(directory),
        "STEPMILL_REDIS_URL": redis_server.url,
        "STEPMILL_AGENTS_FILE": str(directory / "agents.toml"),
    }
    unset = [f"--unset={name}" for name in os.environ if name.startswith(FOREIGN)]
    argv = ["/usr/bin/env", *unset, *(f"{name}={value}" for name, value in env.items())]
    argv += [sys.executable, "-m", "worker.cli.main", "serve", "--port", str(port)]
    server = ServerProcess(argv, directory / "api.log")
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until("the API answers or ended", lambda: not server.is_running() or answers(url), timeout_s=60)
        assert server.is_running(), server.output()
        yield url
    finally:
        server.stop()


def answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz", trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.fixture
def api_url(served_api: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The API, named by STEPMILL_API_URL."""
    monkeypatch.setenv("STEPMILL_API_URL", served_api)
    settings.cache_clear()
    return served_api
