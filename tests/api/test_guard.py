"""Access: every client on this machine, or only clients with the key if one is set."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.binding import check_bind
from tests.api.conftest import Api, make_context
from worker.core.errors import UserError
from worker.settings import Settings
from worker.store.session import Store

KEY = "s3cret-key"
ON_ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_with_a_key_set_every_call_needs_it_but_health_checks(store: Store, tmp_path: Path) -> None:
    context, _, _ = make_context(store, tmp_path, admin_key=KEY)
    with TestClient(create_app(context), base_url="http://stepmill.example") as client:
        assert client.get("/healthz").status_code == 200 and client.get("/readyz").status_code == 200
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": KEY}, {"authorization": "Basic x"}):
            refused = client.get("/api/batches", headers=headers)
            assert refused.status_code == 401 and refused.json()["error"]["code"] == "unauthorized"
            assert KEY not in refused.text
        assert client.get("/api/batches", headers={"authorization": f"Bearer {KEY}"}).status_code == 200


@ON_ONE
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8123", "[::1]:8123", "LOCALHOST"])
def test_names_of_this_machine_are_answered(api: Api, host: str) -> None:
    assert api.client.get("/api/agents", headers={"host": host}).status_code == 200


@ON_ONE
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.5"])
def test_other_names_are_refused_so_that_no_page_can_rebind_one(api: Api, host: str) -> None:
    refused = api.client.get("/api/agents", headers={"host": host})
    assert refused.status_code == 403 and refused.json()["error"]["code"] == "forbidden_host"


def test_pages_from_elsewhere_may_not_submit(api: Api) -> None:
    headers = {"origin": "https://evil.example", "content-type": "text/plain"}
    assert api.client.post("/api/batches", content=b"x\n", headers=headers).status_code == 403
    for other in ("http://localhost:3000", "http://127.0.0.1:3000", "null"):
        headers["origin"] = other
        assert api.client.post("/api/batches", content=b"x\n", headers=headers).status_code == 403
    headers["origin"] = "http://127.0.0.1"
    assert api.client.post("/api/batches", content=b"x\n", headers=headers).status_code == 201


def test_binding_beyond_this_machine_needs_a_key(tmp_path: Path) -> None:
    without = Settings(_env_file=None, data_dir=tmp_path)
    with_key = Settings(_env_file=None, data_dir=tmp_path, admin_key=KEY)
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        check_bind(host, without)
    for host in ("0.0.0.0", "::", "192.168.1.5", "stepmill.example", ""):
        check_bind(host, with_key)
        with pytest.raises(UserError, match="without a key"):
            check_bind(host, without)


def test_a_body_over_the_limit_is_refused(store: Store, tmp_path: Path) -> None:
    context, _, _ = make_context(store, tmp_path, max_batch_bytes=1_000)
    with TestClient(create_app(context), base_url="http://127.0.0.1") as client:
        for content in (b"What?\n" * 1_000, iter([b"What?\n" * 100] * 10)):
            refused = client.post("/api/batches", content=content, headers={"content-type": "text/plain"})
            assert refused.status_code == 413 and "1,000 bytes" in refused.json()["error"]["message"]
        assert client.get("/api/runs").json()["items"] == []


def test_addresses_and_bodies_that_nothing_can_be_done_with_are_refused(api: Api) -> None:
    for path in ("/api/runs/%00", "/api/runs?custom_id=%00", "/api/batches?name=a%00b"):
        refused = api.client.get(path)
        assert refused.status_code == 422 and "NUL" in refused.json()["error"]["message"], path
    assert api.client.post("/api/runs/x/answer", content=b"x" * 1_000_001).status_code == 413
    endless = api.client.post(
        "/api/runs/x/answer", content=iter([b"x" * 100_000] * 20), headers={"content-type": "application/json"}
    )
    assert endless.status_code == 413 and endless.json()["error"]["code"] == "too_large"
