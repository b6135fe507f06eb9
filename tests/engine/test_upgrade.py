"""Databases that released versions left in the middle of their work upgrade, and a fleet finishes what is in them."""

from __future__ import annotations

import gzip
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import select

from tests.engine.fleet import EVERYTHING, Fleet
from tests.engine.prices import price
from tests.engine.wholeness import assert_whole
from worker.store.control.endpoints import resume
from worker.store.control.held import answer, approve, held_calls
from worker.store.control.stopping import resume_batch, resume_run
from worker.store.recovery.invariants import check
from worker.store.schema.migrate import revisions, upgrade
from worker.store.schema.tables import active, batches, endpoints, runs, tool_calls

pytestmark = pytest.mark.timeout(300)
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
VERSIONS = sorted(path.name for path in FIXTURES.glob("[0-9]*"))
ENDS = {"model_rejected", "content_filter", "context_overflow", "malformed_replies", "internal", "deadline"}


@pytest.fixture(params=[f"{version}-{kind}" for version in VERSIONS for kind in ("sqlite", "postgres")])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of an earlier version, as it was when its workers were killed, brought up to this one."""
    version, _, kind = request.param.partition("-")
    if kind == "sqlite":
        file = tmp_path / "stepmill.db"
        file.write_bytes(gzip.decompress((FIXTURES / version / "sqlite.db.gz").read_bytes()))
        url = f"sqlite:///{file}"
    else:
        url = request.getfixturevalue("empty_postgres_url")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(gzip.decompress((FIXTURES / version / "postgres.sql.gz").read_bytes()))
    upgrade(url)
    return url


def test_a_database_of_an_earlier_version_upgrades_and_its_work_is_finished(fleet: Fleet) -> None:
    there, wanted = revisions(fleet.store)
    assert there == wanted
    # Work waits, and nobody has admitted any since: that is true of a stack that stands still.
    assert [broken.name for broken in check(fleet.store)] == ["admission_stopped"]
    before = {run.id: run for run in fleet.rows(select(runs))}
    assert {run.state for run in before.values()} == {"queued", "active", "succeeded", "failed", "cancelled"}

    price(fleet)
    fleet.start(queues=EVERYTHING, slots=16)
    _do_what_people_must(fleet)
    unfinished = fleet.rows(select(batches.c.id).where(batches.c.finished_at.is_(None)))
    for (batch_id,) in unfinished:
        fleet.finish(batch_id, 90)
    assert_whole(fleet, *(batch.id for batch in fleet.rows(select(batches.c.id))))
    after = {run.id: run for run in fleet.rows(select(runs))}
    for run_id, run in before.items():
        if run.state in ("queued", "active"):
            assert after[run_id].state == "succeeded", f"{run.question}: {after[run_id].error_message}"
        else:
            assert after[run_id] == run, "what had ended is left as it was"
    assert {run.error_code for run in after.values()} == {None, *ENDS}


def _do_what_people_must(fleet: Fleet) -> None:
    """What was paused by hand or waits for a person goes on; models are opened."""
    for (batch_id,) in fleet.rows(select(batches.c.id).where(batches.c.paused_reason.is_not(None))):
        assert resume_batch(fleet.store, batch_id)
    for (run_id,) in fleet.rows(select(runs.c.id).where(runs.c.paused)):
        assert resume_run(fleet.store, run_id)
    for (endpoint_id,) in fleet.rows(select(endpoints.c.id).where(endpoints.c.paused_reason.is_not(None))):
        assert resume(fleet.store, endpoint_id)
    waiting = select(tool_calls.c.run_id).where(tool_calls.c.held.is_not(None))
    for (run_id,) in fleet.rows(waiting):
        (held,) = held_calls(fleet.store, run_id)
        done = approve(fleet.store, held) if held.held == "approval" else answer(fleet.store, held, "Seven.")
        assert done is not None
    parked = select(active.c.run_id).where(active.c.parked == "model")
    fleet.wait("nobody waits for a model any more", lambda: not fleet.rows(parked), 30)


@pytest.mark.parametrize("file", sorted(FIXTURES.glob("*/*.gz")), ids=lambda file: f"{file.parent.name}-{file.name}")
def test_the_databases_tell_nothing_of_the_machine_that_made_them(file: Path) -> None:
    content = gzip.decompress(file.read_bytes())
    assert b"worker-host" in content
    assert [place for place in (b"/tmp/", b"/home/", b"/root/", b"/Users/") if place in content] == []
