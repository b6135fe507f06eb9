"""Keys and passwords that an endpoint sends back are in no row, log, message, API answer or page of Flower."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import redis

from tests.cli.conftest import clean_environment
from tests.cli.echoing import PLACES, echoing
from tests.cli.test_stack_end_to_end import STEPMILL
from tests.llm.servers import RawServer, serving
from tests.services.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KEY = "sk-planted/key+0123456789="
PLANTED = {
    "key": KEY,
    "password": "planted-password-1/x",
    "other password": "planted-password-2",
    "key in a query": "planted-subscription-3",
    "password of the proxy": "planted-password-4",
    "password of a tool": "planted-password-5",
    "key of the API": "planted-admin-key-6",
}
PAUSING = {
    "400",
    "400-text",
    "401",
    "302",
    "404",
    "429",
    "500",
    "text-in-200",
    "status-line",
    "header-name",
    "finish-reason",
    "stream",
}
"""Each has a model of its own, so that an endpoint that pauses holds up nobody else."""


def env_file(port: int) -> str:
    return "\n".join(
        [
            "STEPMILL_MODEL=some-model",
            f"OPENAI_BASE_URL=http://me:planted-password-1%2Fx@127.0.0.1:{port}/v1",
            f"OPENAI_API_KEY={KEY}",
            "STAND_IN=ollama",
            "STEPMILL_AGENTS_FILE=agents.toml",
            f"STEPMILL_ADMIN_KEY={PLANTED['key of the API']}",
            f"STEPMILL_SQL_SALES=postgresql://reader:{PLANTED['password of a tool']}@127.0.0.1:9/sales",
            f"ALL_PROXY=http://me:{PLANTED['password of the proxy']}@127.0.0.1:9",
        ]
    )


def agents_file(port: int) -> str:
    written = f"http://you:{PLANTED['other password']}@127.0.0.1:{port}/v1?v=1&subscription-key=planted-subscription-3"
    return f"""
[agents.assistant]
max_malformed = 1
[agents.native]
dialect = "native"
tools = ["calculator"]
[agents.login]
base_url = "{written}"
api_key_env = ""
[agents.login-native]
base_url = "{written}"
api_key_env = ""
dialect = "native"
tools = ["calculator"]
[agents.stand-in]
api_key_env = "STAND_IN"
[agents.proxied]
base_url = "http://model.example/v1"
"""


@dataclass
class Stack:
    """A stack that runs, by its commands."""

    directory: Path
    server: RawServer

    def run(self, *args: str) -> str:
        """What a command prints, whatever it thinks of the outcome."""
        env = clean_environment() | {"FLOWER_UNAUTHENTICATED_API": "true"}
        done = subprocess.run(
            [*STEPMILL, *args], cwd=self.directory, env=env, capture_output=True, text=True, timeout=120
        )
        return done.stdout + done.stderr

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.directory / ".stepmill" / "stepmill.db")) as database:
            return database.execute(query).fetchall()

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads((self.directory / ".stepmill" / "stack.json").read_text())
        return state


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose endpoint has echoed everything everywhere."""
    directory = tmp_path_factory.mktemp("secrets")
    with serving(echoing) as server:
        (directory / ".env").write_text(env_file(server.port))
        (directory / "agents.toml").write_text(agents_file(server.port))
        opened = Stack(directory, server)
        said = opened.run("up", "--detach", "--port", "0", "--flower-port", "0")
        try:
            assert "The stack is ready." in said, said
            submit(opened)
            yield opened
        finally:
            opened.run("down")


def submit(stack: Stack) -> None:
    """One question for each place and way to log in; returns when each was asked."""
    lines: list[dict[str, str]] = []
    for place in PLACES:
        kinds = ("native", "login-native") if place.startswith("native") else ("assistant", "login")
        model = {"model": f"model-{place}"} if place in PAUSING else {}
        lines += [
            {"question": f"echo {place}", "custom_id": f"{place}-{kind}", "agent": kind, **model} for kind in kinds
        ]
    lines += [{"question": "echo answer", "custom_id": "stand-in", "agent": "stand-in"}]
    lines += [{"question": "echo 401", "custom_id": "stand-in-401", "agent": "stand-in", "model": "model-s"}]
    lines += [{"question": "hello", "custom_id": "proxied", "agent": "proxied"}]
    (stack.directory / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = stack.run("batch", "submit", "questions.jsonl")
    asked = "SELECT count(DISTINCT run_id) FROM attempts WHERE ended_at IS NOT NULL"
    wait_until(f"all are asked ({said})", lambda: stack.rows(asked)[0][0] == len(lines), 120)
    ended = "SELECT count(*) FROM runs WHERE custom_id = 'stand-in' AND answer IS NOT NULL"
    wait_until("the one with a stand-in for a key is answered", lambda: stack.rows(ended)[0][0] == 1, 60)


def found(text: str) -> list[str]:
    """Which of the planted secrets a text holds, whole or in part, in any of the spellings in which they travel."""
    spelled = {
        name: {value.replace("/", "%2F"), *(part for part in re.split(r"[/+=]", value) if len(part) > 8)}
        for name, value in PLANTED.items()
    }
    return [name for name, values in spelled.items() if any(value in text for value in values)]


def test_everything_was_sent_where_it_belongs(stack: Stack) -> None:
    sent = {(one.headers["authorization"].partition(" ")[0], one.path) for one in stack.server.requests}
    plain, queried = "/v1/chat/completions", "/v1/chat/completions?v=1&subscription-key=planted-subscription-3"
    assert sent == {("Bearer", plain), ("Basic", queried)}
    assert f"Bearer {KEY}" in {one.headers["authorization"] for one in stack.server.requests}, (
        "a login displaces no key"
    )


def test_no_row_holds_a_secret(stack: Stack) -> None:
    with closing(sqlite3.connect(stack.directory / ".stepmill" / "stepmill.db")) as database:
        dump = "\n".join(database.iterdump())
    assert "[key]" in dump and "echo native-arguments" in dump
    assert found(dump) == []


def test_no_log_and_no_other_file_holds_a_secret(stack: Stack) -> None:
    written = [path for path in (stack.directory / ".stepmill").rglob("*") if path.is_file()]
    logs = {path.name: path.read_text(errors="replace") for path in written if path.name != "stack.json"}
    assert any("[key]" in text for name, text in logs.items() if name.endswith(".log"))
    assert {name: found(text) for name, text in logs.items() if found(text)} == {}


def test_no_message_in_redis_holds_a_secret(stack: Stack) -> None:
    with redis.Redis.from_url(stack.state["environment"]["STEPMILL_REDIS_URL"]) as client:
        dumped = b"".join(key + (client.dump(key) or b"") for key in client.scan_iter())
    assert dumped
    assert found(dumped.decode("latin-1")) == []


def test_no_answer_of_the_api_holds_a_secret(stack: Stack) -> None:
    headers = {"Authorization": f"Bearer {PLANTED['key of the API']}"}
    with httpx2.Client(base_url=stack.state["addresses"]["API"], headers=headers, trust_env=False) as api:
        listed = api.get("/api/runs", params={"limit": 200}).json()["items"]
        paths = [f"/api/runs/{one['run_id']}" for one in listed]
        texts = {
            path: api.get(path).text for path in [*paths, "/api/models", "/api/runs", "/api/batches", "/api/agents"]
        }
    assert len(listed) > 2 * len(PLACES)
    assert {path: found(text) for path, text in texts.items() if found(text)} == {}


def test_no_command_prints_a_secret(stack: Stack) -> None:
    runs = [one["run_id"] for one in json.loads(stack.run("run", "list", "--json", "--limit", "200"))]
    commands = [
        ["models"], ["agents", "--json"], ["doctor"], ["doctor", "--json"], ["batch", "list"],
        *(["agents", "show", name] for name in ("assistant", "login")), *(["run", "show", run] for run in runs[::10]),
        ["tools", "call", "sql_query", "--args", '{"database": "sales", "query": "SELECT 1"}'],
    ]  # fmt: skip
    printed = {" ".join(command): stack.run(*command) for command in commands}
    assert "http://127.0.0.1" in printed["models"] and "http://127.0.0.1:9" in printed["models"]
    assert {command: found(text) for command, text in printed.items() if found(text)} == {}


def test_flower_shows_no_secret(stack: Stack) -> None:
    with httpx2.Client(base_url=stack.state["addresses"]["Flower"], trust_env=False) as flower:
        tasks = flower.get("/api/tasks", params={"limit": 1000}).json()
        pages = [json.dumps(tasks), *(flower.get(f"/task/{name}").text for name in list(tasks)[::4])]
    assert any(task["state"] == "FAILURE" for task in tasks.values())
    assert "[key]" in pages[0], "what failed is told"
    assert found("".join(pages)) == []


def test_a_word_that_stands_in_for_a_key_stays_in_an_answer_and_is_hidden_in_an_error(stack: Stack) -> None:
    answers = dict(stack.rows("SELECT custom_id, answer FROM runs"))
    assert "ollama" in answers["stand-in"]
    (reason,) = stack.rows(
        "SELECT a.error FROM attempts a JOIN runs r ON r.id = a.run_id WHERE r.custom_id = 'stand-in-401' LIMIT 1"
    )[0]
    assert "ollama" not in reason and "[key]" in reason
