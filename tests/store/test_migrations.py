"""The migrations lead to the tables that the code names."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import insert, select

import worker.store.schema.migrations
from worker.llm.endpoint import EndpointSettings
from worker.store.schema.tables import active, configurations, endpoints, metadata, workers
from worker.store.session import Store


def test_a_migrated_database_has_the_tables_and_columns_that_the_code_names(store: Store) -> None:
    with store.read() as tx:
        assert compare_metadata(MigrationContext.configure(tx), metadata) == []


def run_again(store: Store, revision: str, what: str = "upgrade") -> None:
    """What a migration does to rows, on a database that has its tables already."""
    scripts = ScriptDirectory(str(Path(worker.store.schema.migrations.__path__[0])))
    with store.write() as tx, Operations.context(MigrationContext.configure(tx)):
        getattr(scripts.get_revision(revision).module, what)()


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter22@host:8000/v1",
        "https://me:hunter%2322@host/v1/",
        "https://me@host/v1?v=1",
        "https://host/v1?subscription-key=hunter22&v=1",
        "https://host/v1?v=1&code=hunter22",
        "https://host/v1?key=hunter22",
        "https://host/v1?monkey=1",
        "http://host:8000/v1",
        "practice",
    ],
)
def test_logins_and_keys_leave_the_base_urls_on_record_and_runs_still_wait_for_their_endpoint(
    store: Store, url: str
) -> None:
    with store.write() as tx:
        tx.execute(insert(configurations).values(hash="h", body={"base_url": url, "model": "m", "n": [1]}))
        tx.execute(insert(endpoints).values(id="old", base_url=url, model="m", paused_reason="away"))
        tx.execute(insert(active).values(run_id="r", parked="model:old"))
    for _ in range(2):
        run_again(store, "0003")
        with store.read() as tx:
            body = tx.execute(select(configurations.c.body)).scalar_one()
            endpoint = tx.execute(select(endpoints)).one()
            parked = tx.execute(select(active.c.parked)).scalar_one()
        wanted = url if url == "practice" else EndpointSettings("m", base_url=url).base_url
        assert body["n"] == [1] and body["base_url"].rstrip("/") == endpoint.base_url.rstrip("/") == wanted
        assert parked == f"model:{endpoint.id}" and endpoint.paused_reason == "away"
        if "@" in url or "hunter22" in url:
            assert endpoint.id == EndpointSettings("m", base_url=url).endpoint_id


@pytest.mark.parametrize(
    ("mark", "parked"),
    [
        ("model:0123abcd", ("model", "0123abcd")),
        ("group:tools.rare", ("group", "tools.rare")),
        ("group:approval", ("person", "approval")),
        ("group:answer", ("person", "answer")),
        ("paused", ("paused", None)),
        ("ready", ("ready", None)),
        (None, (None, None)),
    ],
)
def test_what_a_run_of_an_older_version_is_parked_for_becomes_a_kind_and_a_target(
    store: Store, mark: str | None, parked: tuple[str | None, str | None]
) -> None:
    with store.write() as tx:
        tx.execute(insert(active).values(run_id="r", parked=mark))
    for _ in range(2):
        run_again(store, "0005", "split_marks")
        with store.read() as tx:
            assert tuple(tx.execute(select(active.c.parked, active.c.parked_target)).one()) == parked


def test_a_worker_that_an_older_version_had_declared_void_is_dead(store: Store) -> None:
    with store.write() as tx:
        tx.execute(insert(workers), [{"id": "a", "state": "void"}, {"id": "b", "state": "up"}])
    run_again(store, "0006", "name_the_dead")
    with store.read() as tx:
        states = {row.id: row.state for row in tx.execute(select(workers.c.id, workers.c.state)).all()}
    assert states == {"a": "dead", "b": "up"}
