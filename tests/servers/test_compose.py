"""docker-compose.yml holds what servers need, and no secret."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.servers.compose import (
    COMPOSE_FILE,
    FILLED_IN,
    Service,
    env_example,
    environment,
    is_ours,
    is_worker,
    raw,
    seconds,
    services,
    variables_of,
)
from tests.services.needs import program
from tests.services.postgres import PostgresServer
from tools.registry import load_tools
from worker.core.states import quarantine_queue
from worker.fleet.drain import EXIT_MARGIN_S
from worker.settings import Settings
from worker.store.schema.migrate import upgrade

ALL = services()
SECRETS = ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "STEPMILL_ADMIN_KEY", "FLOWER_LOGIN", "SEARXNG_SECRET")


def option(service: Service, name: str) -> str:
    """The value after `--name` in a service's command."""
    command = service["command"]
    return str(command[command.index(name) + 1])


def test_docker_compose_accepts_the_file(tmp_path: Path) -> None:
    command = program("docker-compose", package="docker-compose")
    env_file = tmp_path / "env"
    env_file.write_text("".join(f"{name}={value}\n" for name, value in environment().items()))
    argv = [command, "--file", str(COMPOSE_FILE), "--env-file", str(env_file), "config", "--quiet"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", SECRETS)
def test_without_a_secret_nothing_starts_and_its_name_is_told(missing: str) -> None:
    with pytest.raises(KeyError, match=missing):
        services(environment() | {missing: ""})


def test_no_secret_stands_in_the_file_or_in_the_example() -> None:
    for service in raw()["services"].values():
        for name, value in (service.get("environment") or {}).items():
            if re.search(r"PASSWORD|SECRET|KEY$|AUTH", name):
                assert value is None or value.startswith("${"), name
    assert not re.search(r"://[^/\s]*:[^$/\s][^/\s]*@", COMPOSE_FILE.read_text())
    assert {name: env_example()[name] for name in SECRETS} == dict.fromkeys(SECRETS, "")
    assert env_example()["OPENAI_API_KEY"] == ""


def test_every_service_has_a_health_check_or_ends_by_itself() -> None:
    without = {name for name, one in ALL.items() if "healthcheck" not in one}
    assert without == {"migrate"}
    assert ALL["migrate"]["restart"] == "no"
    assert all(one["restart"] == "unless-stopped" for name, one in ALL.items() if name != "migrate")


def test_every_image_is_pinned_to_a_version() -> None:
    for name, service in ALL.items():
        tag = service["image"].partition(":")[2]
        assert re.match(r"\d+\.\d+\.\d+|\d+\.\d+-", tag), f"{name} runs {service['image']}"


def test_ports_are_open_on_loopback_only() -> None:
    published = {name: port for name, one in ALL.items() for port in one.get("ports", [])}
    assert set(published) == {"api", "flower"}
    assert all(port.startswith("127.0.0.1:") for port in published.values())


def test_redis_evicts_nothing_keeps_its_log_and_asks_for_a_password() -> None:
    assert option(ALL["redis"], "--maxmemory-policy") == "noeviction"
    assert option(ALL["redis"], "--appendonly") == "yes"
    assert option(ALL["redis"], "--requirepass") == FILLED_IN["REDIS_PASSWORD"]


def test_postgres_acknowledges_only_what_is_on_disk() -> None:
    assert "synchronous_commit=on" in ALL["postgres"]["command"]
    assert not any("fsync" in str(part) for part in ALL["postgres"]["command"])


def test_the_applications_database_role_is_no_superuser_and_can_migrate(postgres_server: PostgresServer) -> None:
    script = (COMPOSE_FILE.parent / "deploy/postgres/10-application-role.sh").read_text()
    made = script.partition("<<'SQL'\n")[2].partition("\nSQL")[0].replace(":'password'", "'a-password'")
    role, database, superuser = made.replace("stepmill", "stepmill_role_test").splitlines()
    assert superuser == "ALTER ROLE postgres PASSWORD NULL;"
    with psycopg.connect(postgres_server.create_database(), autocommit=True) as owner:
        owner.execute(role.encode())
        owner.execute(database.encode())
        where = f"host={owner.info.host}&port={owner.info.port}"
    url = f"postgresql://stepmill_role_test:a-password@/stepmill_role_test?{where}"
    upgrade(url)
    with psycopg.connect(url) as connection:
        powers = "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls FROM pg_roles WHERE rolname = user"
        assert connection.execute(powers.encode()).fetchone() == (False,)


def test_everything_of_ours_waits_for_the_servers_and_the_migration() -> None:
    for name, service in ALL.items():
        if not is_ours(service) or name in ("migrate", "practice"):
            continue
        assert service["depends_on"] == {
            "redis": {"condition": "service_healthy"},
            "postgres": {"condition": "service_healthy"},
            "migrate": {"condition": "service_completed_successfully"},
        }, name
    assert ALL["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_a_worker_has_time_to_hand_back_what_it_cannot_finish() -> None:
    needed_s = Settings().drain_grace_s + EXIT_MARGIN_S + 5.0  # and to sign off, on a database that is slow
    for name, service in ALL.items():
        if is_worker(service):
            assert seconds(service["stop_grace_period"]) >= needed_s, name


def test_every_queue_has_a_worker() -> None:
    queues = {queue for one in ALL.values() if is_worker(one) for queue in option(one, "--queues").split(",")}
    groups = {f"tools.{group}" for group in load_tools().groups()}
    alone = {quarantine_queue(queue) for queue in ("think", *groups)}
    assert queues == {"think", "think.interactive"} | groups | alone


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("quarantine-")])
def test_work_that_is_tried_alone_has_the_protection_of_its_kind(name: str) -> None:
    queues = option(ALL[name], "--queues").split(",")
    usual = [
        q for q in ("think", "tools.local", "tools.web", "tools.data", "tools.python") if quarantine_queue(q) in queues
    ]
    assert len(usual) == len(queues) and option(ALL[name], "--concurrency") == "1"
    kinds = [one for one in ALL.values() if is_worker(one) and set(option(one, "--queues").split(",")) & set(usual)]
    for kind in kinds:
        assert {**ALL[name]["environment"], "STEPMILL_DB_POOL": ""} == {**kind["environment"], "STEPMILL_DB_POOL": ""}
        assert (ALL[name]["networks"], ALL[name]["security_opt"]) == (kind["networks"], kind["security_opt"])
        assert ALL[name].get("pids_limit") == kind.get("pids_limit")


def test_each_group_of_tools_scales_alone() -> None:
    tool_workers = [one for one in ALL.values() if is_worker(one) and option(one, "--queues").startswith("tools.")]
    assert all("," not in option(one, "--queues") for one in tool_workers)
    assert not any("container_name" in one or "ports" in one for one in tool_workers)


def test_the_connections_of_all_processes_fit_into_the_database() -> None:
    allowed = next(int(part.partition("=")[2]) for part in ALL["postgres"]["command"] if "max_connections" in part)
    assert sum(connections(service) for service in ALL.values() if is_ours(service)) < 0.75 * allowed


def connections(service: Service) -> int:
    """What a service's processes may hold at most; a prefork parent and each of its children hold their own."""
    pool = int(variables_of(service, environment()).get("STEPMILL_DB_POOL", Settings().db_pool))
    prefork = is_worker(service) and option(service, "--pool") == "prefork"
    return pool * (1 + int(option(service, "--concurrency"))) if prefork else pool


def test_keys_reach_only_the_services_that_use_them() -> None:
    holders = {
        secret: {name for name, one in ALL.items() if secret in (one.get("environment") or {})}
        for secret in ("OPENAI_API_KEY", "STEPMILL_ADMIN_KEY", "FLOWER_BASIC_AUTH")
    }
    assert holders == {
        "OPENAI_API_KEY": {"think", "think-interactive", "quarantine-think"},
        "STEPMILL_ADMIN_KEY": {"api"},
        "FLOWER_BASIC_AUTH": {"flower"},
    }


def test_only_services_that_run_programs_of_a_model_are_freed_of_the_default_profiles() -> None:
    freed = {name for name, one in ALL.items() if any("unconfined" in text for text in one.get("security_opt", []))}
    assert freed == {"tools-python", "quarantine-python"}
    assert not any("privileged" in one or "cap_add" in one for one in ALL.values())
    assert all(one["cap_drop"] == ["ALL"] for one in ALL.values() if is_ours(one))
    assert {ALL[name]["networks"][0] for name in freed} == {"inner"}
    assert all(len(ALL[name]["networks"]) == 1 for name in freed)
    assert raw()["networks"]["inner"] == {"internal": True}


def test_the_practice_model_runs_only_when_asked_for() -> None:
    assert {name for name, one in ALL.items() if "profiles" in one} == {"practice"}
