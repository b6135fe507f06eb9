"""Every service's exact command, started as a local process, answers a batch together with the others."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.compose import environment, is_ours, is_worker
from tests.servers.processes import Servers
from tests.services.redis import PASSWORD, RedisServer
from tests.services.waiting import wait_until

AGENTS = """
[agents.assistant]
tools = ["calculator", "count_characters", "get_weather", "python_executor", "read_file", "shout"]
"""
OWN_TOOL = '''
from tools.base import tool


@tool(idempotent=True)
def shout(text: str) -> str:
    """Writes a text in capitals.

    Args:
        text: What to write.
    """
    return text.upper()
'''
QUESTIONS = {
    "What is (15 + 7) * 3?": "66",
    "我爱编程有几个字符？": "4",
    "What is the weather in Beijing?": "Beijing",
    "Use python_executor(code='print(sum(range(101)))').": "5050",
    "Read the file greeting.txt": "hello from the data group",
}


@pytest.fixture
def servers(tmp_path: Path, redis_server: RedisServer, redis_url: str, empty_postgres_url: str) -> Iterator[Servers]:
    own, opened = tmp_path / "own", tmp_path / "opened"
    own.mkdir()
    opened.mkdir()
    (own / "agents.toml").write_text(AGENTS)
    (own / "my_tools.py").write_text(OWN_TOOL)
    (opened / "greeting.txt").write_text("hello from the data group")
    variables = environment() | {
        "REDIS_PASSWORD": PASSWORD,
        "STEPMILL_AGENTS_FILE": "/srv/own/agents.toml",
        "STEPMILL_TOOL_MODULES": "my_tools",
        "STEPMILL_WEATHER_OFFLINE": "1",
        "STEPMILL_FILES_DIRS": str(opened),
    }
    moved = {
        "@redis:6379": f"@127.0.0.1:{redis_server.port}",
        "postgresql://stepmill:pg-password-1@postgres:5432/stepmill": empty_postgres_url,
        "/srv/own": str(own),
    }
    started = Servers(tmp_path, variables, moved)
    yield started
    started.stop()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_batch_is_answered_by_the_commands_of_all_services(servers: Servers) -> None:
    migrated = servers.run("migrate")
    assert migrated.returncode == 0, migrated.stderr
    names = [name for name, one in servers.services.items() if is_ours(one) and name != "migrate"]
    for name in names:
        servers.start(name)
    for name in names:
        servers.wait_until_healthy(name, timeout_s=120)
    assert open_without_key(servers) == 401
    body = {"runs": [{"question": question} for question in QUESTIONS]}
    batch_id = call(servers, "/api/batches", body)["batch_id"]

    def done() -> Any:
        batch = call(servers, f"/api/batches/{batch_id}")
        return batch["state"] == "done" and batch

    batch = wait_until("the batch is done", done, timeout_s=60)
    runs = call(servers, f"/api/runs?batch={batch_id}")["items"]
    assert batch["counts"]["succeeded"] == len(QUESTIONS), [(run["question"], run["error"]) for run in runs]
    for run, expected in zip(runs, QUESTIONS.values(), strict=True):
        assert expected in run["answer"], run
    served = {queue for one in call(servers, "/api/workers")["items"] for queue in one["queues"]}
    # Who serves a kind of quarantine also takes what an older version had sent to the one for all.
    named = {queue for listed in queues(servers) for queue in listed.split(",")}
    assert served == named | {"quarantine"}
    assert flower_without_password(servers) == 401


def queues(servers: Servers) -> set[str]:
    return {one["command"][3] for one in servers.services.values() if is_worker(one)}


def call(servers: Servers, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {servers.variables['STEPMILL_ADMIN_KEY']}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{servers.ports['8321']}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def open_without_key(servers: Servers) -> int:
    return status(f"http://127.0.0.1:{servers.ports['8321']}/api/batches")


def flower_without_password(servers: Servers) -> int:
    return status(f"http://127.0.0.1:{servers.ports['5555']}/tasks")


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
