"""Every variable of the settings page is read from the environment and from `.env`, and the environment wins."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tools.config import ToolSettings, environment_settings
from tools.environment import variable
from worker.agents import load_agents
from worker.cli.errors import refusal
from worker.llm.keys import KeySource
from worker.llm.proxies import proxy_for
from worker.settings import Settings

PAGE = (DOCS / "settings.md").read_text()
NAMES = [
    name.replace("<NAME>", "SALES").replace("<ANYTHING>", "COLOUR")
    for name in re.findall(r"^\| `([A-Z_<>]+)`", PAGE, re.MULTILINE)
]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to start in, and no settings but a test's own."""
    for name in list(os.environ):
        if name.startswith(("STEPMILL_", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def setting(name: str) -> str:
    value = getattr(Settings(), name.removeprefix("STEPMILL_").lower())
    return f"{value[0]}" if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)


def of_tools(name: str) -> str:
    return environment_settings()[name]


def base_url(_: str) -> str:
    return load_agents(Settings(model="m")).configuration().base_url


def key(name: str) -> str | None:
    return KeySource(variable).key(name)


def mounted_key(name: str) -> str | None:
    directory = Path(variable(name) or "")
    return f"{directory}" if KeySource(variable).key("K") == f"from {directory}" else None


def proxy(name: str) -> str | None:
    found = proxy_for(f"{name.partition('_')[0].lower().replace('all', 'https')}://example.com", variable)
    return found.url if found else None


def no_proxy(_: str) -> str:
    os.environ["ALL_PROXY"] = "http://127.0.0.1:1"
    hosts = [host for host in ("one.example", "two.example") if proxy_for(f"https://{host}/v1", variable) is None]
    del os.environ["ALL_PROXY"]
    return ",".join(hosts)


def traceback_of(_: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    refusal(RuntimeError("no"))
    return "1" if "RuntimeError: no" in capsys.readouterr().err else "not set"


Reader = Callable[[str], str | None]
OF_ENDPOINTS: dict[str, tuple[Reader, str, str]] = {
    "OPENAI_BASE_URL": (base_url, "http://one.example/v1", "http://two.example/v1"),
    "OPENAI_API_KEY": (key, "key-one", "key-two"),
    "STEPMILL_KEYS_DIR": (mounted_key, "one", "two"),
    "HTTP_PROXY": (proxy, "http://one.example:1", "http://two.example:2"),
    "HTTPS_PROXY": (proxy, "http://one.example:1", "http://two.example:2"),
    "ALL_PROXY": (proxy, "http://one.example:1", "http://two.example:2"),
    "NO_PROXY": (no_proxy, "one.example", "two.example"),
}


def reader(name: str) -> tuple[Reader, str, str]:
    """Who reads this variable, and two values for it."""
    if name in OF_ENDPOINTS:
        return OF_ENDPOINTS[name]
    field = Settings.model_fields.get(name.removeprefix("STEPMILL_").lower())
    if field is None:
        return of_tools, "one", "two"
    numbers = field.annotation in (int, float)
    return setting, *(("3", "7") if numbers else ("one", "two"))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_read_from_the_environment_and_from_the_env_file(
    name: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, one, two = reader(name)
    for value in (one, two):
        if read is mounted_key:
            (directory / value).mkdir()
            (directory / value / "K").write_text(f"from {value}")
    (directory / ".env").write_text(f"{name}={one}\n")
    assert read(name) == one, "from .env"
    monkeypatch.setenv(name, two)
    assert read(name) == two, "the environment wins"
    monkeypatch.setenv(name, " ")
    assert read(name) == one, "a blank value counts as not set"
    monkeypatch.setenv(name, f" {two}\n")
    (directory / ".env").unlink()
    assert read(name) == two, "from the environment alone, without the space around it"


def test_the_traceback_is_asked_for_in_either_place(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert traceback_of("", capsys) == "not set"
    (directory / ".env").write_text("STEPMILL_TRACEBACK=1\n")
    assert traceback_of("", capsys) == "1"


def test_a_value_in_the_env_file_may_use_other_variables(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "one.example")
    (directory / ".env").write_text("OPENAI_BASE_URL=http://${PLACE}/v1\nSTEPMILL_SQL_SALES=${PLACE}.db\n")
    assert base_url("") == "http://one.example/v1"
    assert ToolSettings.of(environment_settings()).sql_databases == {"sales": "one.example.db"}


def test_a_directory_named_env_is_no_file_of_variables(directory: Path) -> None:
    (directory / ".env").mkdir()
    assert variable("OPENAI_BASE_URL") is None


def test_secrets_are_in_no_repr_of_the_settings() -> None:
    url = "https://user:secret@host"
    addresses = Settings(database_url=url, redis_url=url, api_url=url, flower_url=url)
    keys = Settings(api_key="secret", admin_key="secret")
    assert "secret" not in repr(addresses) + repr(keys)
