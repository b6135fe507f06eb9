"""The smaller parts of the stack: ports, output, the private Redis, the plan."""

from __future__ import annotations

import io
import socket
import sys
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.services.process import ServerProcess
from tests.services.waiting import wait_until
from worker.local.health import answers_http, answers_redis
from worker.local.output import Console, LogFile
from worker.local.plan import StackPlan, addresses, embedded_services, environment
from worker.local.ports import free_port, port_in_use
from worker.local.redis_server import find_redis_binary, private_redis, redis_version


def test_a_port_is_in_use_while_somebody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert port_in_use(port)
    assert not port_in_use(port)


def test_nobody_listening_is_not_healthy() -> None:
    port = free_port()
    assert not answers_http(port, "/")()
    assert not answers_redis(f"redis://127.0.0.1:{port}/0")()


def test_an_http_service_is_healthy_when_it_answers_well(tmp_path: Path) -> None:
    port = free_port()
    server = ServerProcess([sys.executable, "-m", "http.server", str(port), "-d", str(tmp_path)], tmp_path / "log")
    wait_until("it serves", answers_http(port, "/"))
    assert not answers_http(port, "/missing")()
    server.stop()


def test_a_log_rotates_when_it_has_grown(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "part.log", max_bytes=100)
    for number in range(40):
        log.line(f"line {number:02} of some length")
    log.close()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["part.log", "part.log.1", "part.log.2", "part.log.3"]
    assert "line 39" in (tmp_path / "part.log").read_text()
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())


def test_console_lines_stand_under_their_names() -> None:
    out = io.StringIO()
    console = Console(out)
    console.introduce(["api", "flower"])
    console.line("api", "hello")
    console.line("flower", "hi")
    assert out.getvalue() == "api    | hello\nflower | hi\n"


def test_names_are_coloured_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    console = Console(out)
    console.introduce(["api"])
    console.line("api", "hello")
    assert out.getvalue() == "\x1b[36mapi |\x1b[0m hello\n"


def test_a_console_whose_reader_left_stays_silent() -> None:
    out = io.StringIO()
    console = Console(out)
    out.close()
    console.line("api", "hello")
    console.line("api", "still here")
    assert out.closed


def test_the_private_redis_wants_its_password_and_evicts_nothing(tmp_path: Path) -> None:
    server, service = private_redis(tmp_path)
    assert server.password not in " ".join(service.argv)
    assert (tmp_path / "redis.conf").stat().st_mode & 0o777 == 0o600
    process = ServerProcess(list(service.argv), tmp_path / "log")
    wait_until("Redis answers", answers_redis(server.url))
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("bind") == {"bind": "127.0.0.1"}
    with (
        redis.Redis(port=server.port, retry=Retry(NoBackoff(), 0)) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()
    process.stop()


def test_a_redis_on_the_path_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=5.0.7 sha=0:0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = find_redis_binary()
    assert found != str(old)
    assert redis_version(found) >= (6, 2)


def test_a_redis_on_the_path_that_is_new_enough_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = tmp_path / "redis-server"
    new.write_text("#!/bin/sh\necho 'Redis server v=8.0.1 sha=0:0'\n")
    new.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert find_redis_binary() == str(new)


def test_every_part_of_the_plan_is_told_the_same_addresses(tmp_path: Path) -> None:
    plan = StackPlan(tmp_path, "sqlite:///x.db").with_ports()
    env = environment(plan, "redis://:secret@127.0.0.1:1/0")
    services = embedded_services(plan, env)
    assert [service.name for service in services] == [
        "database", "think", "think-interactive", "tools", "tools-python", "quarantine", "model", "api", "flower",
    ]  # fmt: skip
    assert all(service.env is env for service in services)
    assert env["STEPMILL_PRACTICE_URL"] == addresses(plan)["practice model"]
    assert not any("secret" in argument for service in services for argument in service.argv)


def test_the_practice_model_is_left_out_when_a_real_one_is_named(tmp_path: Path) -> None:
    plan = StackPlan(tmp_path, "sqlite:///x.db", practice=False).with_ports()
    env = environment(plan, "redis://")
    assert "model" not in {service.name for service in embedded_services(plan, env)}
    assert "STEPMILL_PRACTICE_URL" not in env
    assert "the practice model" not in plan.fixed_ports()


def test_workers_get_longer_to_stop_than_they_may_drain(tmp_path: Path) -> None:
    plan = StackPlan(tmp_path, "sqlite:///x.db", drain_grace_s=20).with_ports()
    think = next(service for service in embedded_services(plan, {}) if service.name == "think")
    assert think.stop_grace_s > 20
