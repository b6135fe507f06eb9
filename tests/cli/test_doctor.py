"""`stepmill doctor`: every fault is found and has a remedy."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import create_engine, text

from tests.cli.conftest import Run
from tests.cli.model_servers import ModelServer
from tests.services.redis import RedisServer
from worker.cli import doctor
from worker.cli.doctoring import configuration, database, fleet, machine, model, redis
from worker.cli.doctoring.finding import Check, Finding, Level, Patient
from worker.core.remedies import PauseKind
from worker.local.ports import free_port
from worker.local.state import StackInfo
from worker.settings import Settings
from worker.store.control.endpoints import pause
from worker.store.hot.portable import PORTABLE
from worker.store.opening import open_store
from worker.store.recovery.liveness import WorkerInfo, beat, register
from worker.store.session import CLOCK, Store


def patient(stack: StackInfo | None = None, **values: Any) -> Patient:
    return Patient(Settings(_env_file=None, **values), stack)


def found(check: Check, who: Patient) -> dict[str, Finding]:
    """The findings that are not all right, by their codes; each has a remedy."""
    bad = {finding.code: finding for finding in check(who) if finding.level != Level.OK}
    assert all(finding.remedy and finding.message for finding in bad.values())
    return bad


def only(check: Check, who: Patient, code: str) -> Finding:
    bad = found(check, who)
    assert list(bad) == [code]
    return bad[code]


# This machine


def test_a_data_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    finding = only(machine.data_dir, patient(data_dir=tmp_path / "file" / "data"), "data_dir")
    assert "it is a file" in finding.message


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize(("free", "level"), [(1_000_000_000, Level.WARNING), (100_000_000, Level.FAULT)])
def test_a_disk_that_is_nearly_full(monkeypatch: pytest.MonkeyPatch, free: int, level: Level) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12 - free, free))
    assert only(machine.data_dir, patient(), "disk").level == level


def test_a_usual_port_in_use_is_named_with_its_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(machine, "USUAL_PORTS", {"Flower": taken.getsockname()[1]})
        finding = only(machine.ports, patient(), "port")
    assert f"pid {os.getpid()}" in finding.message
    assert "--flower-port" in finding.remedy


def test_isolation_that_does_not_work_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPMILL_PYTHON_ISOLATION", "a-jail-that-there-is-not")
    assert "bubblewrap" in only(machine.isolation, patient(), "isolation").remedy


def test_isolation_that_was_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPMILL_PYTHON_ISOLATION", "none")
    assert only(machine.isolation, patient(), "isolation_off").level == Level.WARNING


# What the operator wrote


def test_a_tool_module_that_cannot_be_loaded() -> None:
    assert "no_such_module" in only(configuration.tools, patient(tool_modules="no_such_module"), "tool_module").message


@pytest.mark.parametrize(
    ("toml", "code", "words"),
    [
        ("[agents.broken", "agents_file", "not valid TOML"),
        ('[agents.mine]\nmodel = "m"\ndialect = "klingon"\n', "agent", "klingon"),
        ('[agents.mine]\nmodel = "m"\ntools = ["oracle"]\n', "agent_tool", "'oracle'"),
    ],
)
def test_an_agents_file_with_a_mistake(tmp_path: Path, toml: str, code: str, words: str) -> None:
    (tmp_path / "agents.toml").write_text(toml)
    bad = found(configuration.agents, patient(agents_file=tmp_path / "agents.toml", model="m"))
    assert words in bad[code].message


def test_practice_mode_is_said() -> None:
    assert only(configuration.agents, patient(), "practice").level == Level.WARNING
    assert not found(configuration.agents, patient(model="gpt-x"))


def test_a_price_table_with_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("[[")
    only(configuration.prices, patient(prices_file=tmp_path / "prices.toml"), "prices_file")


# Redis


def test_a_redis_that_is_well(redis_url: str) -> None:
    who = patient(redis_url=redis_url)
    assert not found(redis.redis, who)
    assert "redis" in who.usable


def test_a_redis_that_is_away() -> None:
    finding = only(redis.redis, patient(redis_url=f"redis://127.0.0.1:{free_port()}/0"), "redis_away")
    assert finding.level == Level.UNREACHABLE


def test_a_redis_url_that_is_none() -> None:
    only(redis.redis, patient(redis_url="localhost:6379"), "redis_url")


@pytest.mark.parametrize("password", ["", ":wrong@"])
def test_a_redis_password_that_is_missing_or_wrong(redis_server: RedisServer, password: str) -> None:
    url = f"redis://{password}127.0.0.1:{redis_server.port}/0"
    only(redis.redis, patient(redis_url=url), "redis_password")


@pytest.fixture
def evicting_redis(redis_server: RedisServer) -> Iterator[RedisServer]:
    with redis_server.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        yield redis_server
        client.config_set("maxmemory-policy", "noeviction")


def test_a_redis_that_may_drop_messages(evicting_redis: RedisServer) -> None:
    assert "allkeys-lru" in only(redis.redis, patient(redis_url=evicting_redis.url), "redis_eviction").message


@pytest.fixture
def full_redis(redis_server: RedisServer) -> Iterator[RedisServer]:
    with redis_server.client() as client:
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.02))
        yield redis_server
        client.config_set("maxmemory", 0)


def test_a_redis_that_is_nearly_full(full_redis: RedisServer) -> None:
    only(redis.redis, patient(redis_url=full_redis.url), "redis_memory")


def test_a_redis_that_is_too_old_or_open_to_the_network() -> None:
    codes = [finding.code for finding in redis.server("redis://10.0.0.7:6379/0", {"redis_version": "5.0.14"})]
    assert codes == ["redis_version", "redis_open"]


# The database


@pytest.fixture
def store(sqlite_url: str) -> Iterator[Store]:
    store = open_store(sqlite_url)
    yield store
    store.dispose()


def test_a_database_that_is_well(database_url: str) -> None:
    who = patient(database_url=database_url)
    assert not found(database.database, who)
    assert "database" in who.usable


@pytest.mark.parametrize("url", ["sqlite:////nowhere/at/all/x.db", "postgresql://a:hush@127.0.0.1:1/x", "oracle://x"])
def test_a_database_that_is_away(url: str) -> None:
    finding = only(database.database, patient(database_url=url), "database_away")
    assert finding.level == Level.UNREACHABLE
    assert "hush" not in finding.message


def test_a_database_that_is_empty(tmp_path: Path) -> None:
    finding = only(database.database, patient(database_url=f"sqlite:///{tmp_path / 'empty.db'}"), "not_migrated")
    assert "stepmill db upgrade" in finding.remedy


def test_a_database_of_another_version(sqlite_url: str, store: Store) -> None:
    with store.write() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    assert "has schema 0001" in only(database.database, patient(database_url=sqlite_url), "not_migrated").message
    with store.write() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    newer = only(database.database, patient(database_url=sqlite_url), "database_newer")
    assert "schema 9999" in newer.message and "db upgrade" not in newer.remedy


def test_a_database_that_cannot_be_written(postgres_url: str) -> None:
    url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-c%20default_transaction_read_only%3Don"
    only(database.database, patient(database_url=url), "read_only")


def test_sqlite_without_its_write_ahead_log(sqlite_url: str) -> None:
    plain = Store(create_engine(sqlite_url), nullcontext(), PORTABLE)
    with plain.engine.connect() as connection:
        connection.execute(text("PRAGMA journal_mode=DELETE"))
    assert [finding.code for finding in database.writable(plain)] == ["no_wal"]
    plain.dispose()


def test_clocks_that_differ(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CLOCK, "moment", 1_700_000_000.0)
    only(database.database, patient(database_url=sqlite_url), "clock_skew")


def test_tables_that_contradict_one_another(sqlite_url: str, store: Store) -> None:
    with store.write() as tx:
        tx.execute(text("INSERT INTO active (run_id) VALUES ('run_ghost')"))
    bad = found(database.database, patient(database_url=sqlite_url))
    assert "run_ghost" in bad["invariant"].message


# What runs


def looked_over(sqlite_url: str, **values: Any) -> Patient:
    who = patient(database_url=sqlite_url, **values)
    who.usable.add("database")
    return who


ALL_QUEUES = (
    "think", "think.interactive", "tools.local", "tools.web", "tools.data", "tools.python",
    "quarantine.think", "quarantine.local", "quarantine.web", "quarantine.data", "quarantine.python",
)  # fmt: skip


def test_no_worker_at_all(sqlite_url: str) -> None:
    assert only(fleet.workers, looked_over(sqlite_url), "no_workers").level == Level.WARNING
    running = looked_over(sqlite_url)
    running.stack = StackInfo(1, 0.0)
    assert only(fleet.workers, running, "no_workers").level == Level.FAULT


def test_a_queue_without_a_worker(sqlite_url: str, store: Store) -> None:
    register(store, WorkerInfo("most", [queue for queue in ALL_QUEUES if queue != "tools.web"], "threads", 4))
    finding = found(fleet.workers, looked_over(sqlite_url))["queue_without_worker"]
    assert "tools.web" in finding.message
    assert "stepmill worker --queues tools.web" in finding.remedy


def test_a_worker_with_threads_that_hang(sqlite_url: str, store: Store) -> None:
    beat(store, register(store, WorkerInfo("tired", ALL_QUEUES, "threads", 4)), stuck=3)
    assert "tired has 3 threads" in found(fleet.workers, looked_over(sqlite_url))["stuck"].message


def test_a_model_that_is_paused(sqlite_url: str, store: Store) -> None:
    register(store, WorkerInfo("all", ALL_QUEUES, "threads", 4))
    told = {"kind": PauseKind.KEY, "api_key_env": "MY_KEY"}
    pause(store, "e1", "http://m/v1", "gpt-x", "the endpoint answered 401", for_s=None, **told)  # type: ignore[arg-type]
    finding = found(fleet.workers, looked_over(sqlite_url))["paused"]
    assert "gpt-x is paused: the endpoint answered 401" in finding.message
    assert "Put a valid key for http://m/v1 into MY_KEY" in finding.remedy
    assert "stepmill models resume gpt-x" in finding.remedy


def test_api_and_flower_that_do_not_answer() -> None:
    gone = {"API": f"http://127.0.0.1:{free_port()}", "Flower": f"http://127.0.0.1:{free_port()}"}
    bad = found(fleet.addresses, patient(StackInfo(1, 0.0, addresses=gone)))
    assert {finding.level for finding in bad.values()} == {Level.UNREACHABLE}
    assert set(bad) == {"api_away", "flower_away"}


def test_an_api_that_is_not_ready(model_server: ModelServer) -> None:
    model_server.status = 503
    only(fleet.addresses, patient(api_url=model_server.url), "api_unwell")


# Models


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def asking(server_url: str, monkeypatch: pytest.MonkeyPatch, key: str | None = "sk-hush") -> Patient:
    monkeypatch.setenv("OPENAI_BASE_URL", server_url)
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    who = patient(model="gpt-x")
    who.usable.add("agents")
    return who


def test_a_model_that_is_well(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    model_server.models = ["gpt-x"]
    assert not found(model.models, asking(model_server.url, monkeypatch))


def test_a_model_endpoint_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    who = asking(f"http://127.0.0.1:{free_port()}/v1", monkeypatch)
    assert only(model.models, who, "model_away").level == Level.UNREACHABLE


def test_a_key_that_is_missing(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    model_server.status = 401
    assert "OPENAI_API_KEY" in only(model.models, asking(model_server.url, monkeypatch, None), "key_missing").remedy


def test_a_key_that_is_refused_is_not_printed(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    model_server.status = 401
    finding = only(model.models, asking(model_server.url, monkeypatch), "key_refused")
    assert "sk-hush" not in finding.message + finding.remedy


def test_a_key_file_that_cannot_be_read(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, own_directory: Path
) -> None:
    (own_directory / "OPENAI_API_KEY").mkdir()
    monkeypatch.setenv("STEPMILL_KEYS_DIR", str(own_directory))
    assert "Is a directory" in only(model.models, asking(model_server.url, monkeypatch), "key_unreadable").message


def test_an_endpoint_that_wants_the_login_of_its_address(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.models = ["gpt-x"]
    url = model_server.url.replace("://", "://me:hunter22@") + "?subscription-key=hidden-part&v=1"
    assert not found(model.models, asking(url, monkeypatch, None))
    (seen,) = {finding.message for finding in model.models(asking(url, monkeypatch, None))}
    assert seen == f"{model_server.url}?v=1 answers"


@pytest.mark.parametrize(
    ("proxy", "code"), [("http://me:hunter22@127.0.0.1:9", "model_away"), ("socks9://me:hunter22@host", "proxy")]
)
def test_a_proxy_that_does_not_work(monkeypatch: pytest.MonkeyPatch, proxy: str, code: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    finding = only(model.models, asking("http://model.example/v1", monkeypatch), code)
    assert proxy.partition("@")[2] in finding.message
    assert "hunter22" not in finding.message + finding.remedy


def test_a_model_that_the_endpoint_does_not_know(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    model_server.models = ["gpt-y", "gpt-z"]
    assert "gpt-y, gpt-z" in only(model.models, asking(model_server.url, monkeypatch), "model_unknown").remedy


# The whole


def test_the_command_tells_everything_and_ends_with_the_worst(stepmill: Run) -> None:
    well = stepmill("doctor")
    assert well.code == 0, well.out
    assert "Nothing is wrong." in well.out
    wrong = stepmill("doctor", STEPMILL_TOOL_MODULES="no_such_module")
    assert wrong.code == 1
    assert "WRONG  tools: no_such_module was refused" in wrong.out
    away = stepmill("doctor", "--json", STEPMILL_REDIS_URL=f"redis://127.0.0.1:{free_port()}/0")
    assert away.code == 3
    assert "redis_away" in {finding["code"] for finding in away.json}


def test_a_check_that_breaks_is_a_finding_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_: Patient) -> Iterator[Finding]:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(doctor, "CHECKS", (breaks, configuration.prices))
    findings = list(doctor.examine(patient()))
    assert [finding.code for finding in findings] == ["check_failed", ""]
