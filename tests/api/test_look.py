"""Agents, tools, workers, queues and the state of the process can be read."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as RedisAway
from starlette.testclient import TestClient

from api.app import create_app
from tests.api.conftest import Api, make_context
from tests.api.words import act, admit_work_messages
from tests.store.conftest import World, stepped_clock
from worker.agents import load_agents
from worker.core.errors import UserError
from worker.settings import Settings
from worker.store.opening import open_store
from worker.store.queries.admission import STALE_S
from worker.store.session import CLOCK, Store

__all__ = ["stepped_clock"]


def test_agents_and_tools_are_listed_with_what_they_do(api: Api, moved: World) -> None:
    agents = {item["name"]: item for item in api.client.get("/api/agents").json()["items"]}
    assert agents["assistant"]["simulated"] is True and "calculator" in agents["assistant"]["tools"]
    tools = {item["name"]: item for item in api.client.get("/api/tools").json()["items"]}
    assert tools["calculator"]["queue"] == "tools.local" and tools["calculator"]["workers"] == 1
    assert tools["calculator"]["parameters"]["type"] == "object"


def test_an_agent_with_an_address_that_cannot_be_used_is_listed_without_the_password_in_it(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "agents.toml").write_text(
        '[agents.odd]\nmodel = "m"\nbase_url = "http://me:hunter22@host:port/v1?key=hunter22"\n'
    )
    context, _, _ = make_context(store, tmp_path, agents_file=tmp_path / "agents.toml")
    with TestClient(create_app(context), base_url="http://127.0.0.1") as client:
        listed = client.get("/api/agents")
        refused = client.post("/api/runs", json={"question": "hello", "agent": "odd"})
    (odd,) = [item for item in listed.json()["items"] if item["name"] == "odd"]
    assert "base_url of agent 'odd'" in odd["problem"] and "http://host:port/v1" in odd["problem"]
    assert refused.status_code == 422 and "http://host:port/v1" in refused.text
    assert "hunter22" not in listed.text + refused.text


def test_a_key_in_the_agents_file_is_refused_and_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "agents.toml").write_text('[agents.odd]\napi_key = "sk-hunter22"\n')
    with pytest.raises(UserError, match=r"agent 'odd': there is no setting api_key") as caught:
        load_agents(Settings(agents_file=tmp_path / "agents.toml"))
    assert "api_key_env" in caught.value.hint
    assert "hunter22" not in "".join(traceback.format_exception(caught.value))


def test_workers_and_queues_tell_what_waits_and_since_when(api: Api, moved: World) -> None:
    (worker,) = api.client.get("/api/workers").json()["items"]
    assert (worker["name"], worker["state"], worker["slots"]) == ("tests", "up", 8)
    data = b"a?\nb?\nc?\n"
    api.client.post("/api/batches", content=data, headers={"content-type": "text/plain"})
    act(moved, next(iter(admit_work_messages(moved).values())))
    api.sender.queued["think"] = 2
    queues = {item["queue"]: item for item in api.client.get("/api/queues").json()["items"]}
    assert (queues["think"]["length"], queues["think"]["waiting"], queues["think"]["workers"]) == (2, 2, 1)
    assert queues["think"]["oldest_age_s"] >= 0
    assert queues["tools.local"]["waiting"] == 1 and queues["quarantine.local"]["oldest_age_s"] is None


def test_ready_when_database_migrations_and_redis_are(api: Api) -> None:
    ready = api.client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["checks"] == {
        name: {"ok": True, "message": "ok"} for name in ("database", "migrations", "redis", "admission")
    }


def test_not_ready_without_redis_and_queues_say_unknown(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_queues: object) -> dict[str, int]:
        raise RedisAway("refused")

    monkeypatch.setattr(api.sender, "lengths", away)
    monkeypatch.setattr(api.sender, "check_room", away)
    ready = api.client.get("/readyz")
    assert ready.status_code == 503 and not ready.json()["checks"]["redis"]["ok"]
    assert {item["length"] for item in api.client.get("/api/queues").json()["items"]} == {None}


def test_a_database_that_is_not_migrated_is_told_with_the_remedy(tmp_path: Path) -> None:
    context, _, _ = make_context(open_store(f"sqlite:///{tmp_path}/empty.db"), tmp_path)
    with TestClient(create_app(context), base_url="http://127.0.0.1") as client:
        ready = client.get("/readyz").json()
        assert "stepmill db upgrade" in ready["checks"]["migrations"]["message"]
        refused = client.get("/api/batches")
        assert refused.status_code == 503 and "not migrated" in refused.json()["error"]["message"]


def test_a_database_that_is_away_is_told_in_one_sentence(tmp_path: Path) -> None:
    context, _, _ = make_context(open_store("postgresql://nobody@127.0.0.1:1/none"), tmp_path)
    with TestClient(create_app(context), base_url="http://127.0.0.1") as client:
        refused = client.get("/api/batches")
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "unavailable"
        assert "Traceback" not in refused.text
        assert client.get("/readyz").status_code == 503


@pytest.mark.usefixtures("stepped_clock")
def test_not_ready_while_runs_wait_and_no_admission_goes_through(api: Api) -> None:
    api.client.post("/api/batches", content=b"One?\n", headers={"content-type": "text/plain"})
    assert api.client.get("/readyz").status_code == 200, "it has not waited long"
    assert CLOCK.moment is not None
    CLOCK.moment += STALE_S + 1
    ready = api.client.get("/readyz")
    assert ready.status_code == 503 and "never" in ready.json()["checks"]["admission"]["message"]
    (violated,) = api.client.get("/api/invariants").json()["items"]
    assert violated["name"] == "admission_stopped" and violated["seen"]["waiting"] == 1
    api.admitter.admit_now()
    assert api.client.get("/readyz").status_code == 200 and not api.client.get("/api/invariants").json()["items"]
    CLOCK.moment += STALE_S + 1
    assert api.client.get("/readyz").status_code == 200, "nothing waits for an admission"
