"""What `test_full_disk.py` runs on a small mounted disk: the directory that `STEPMILL_TEST_SMALL_DISK` names."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.engine.fleet import Fleet
from tests.engine.questions import mixed
from tests.engine.wholeness import assert_money, assert_nothing_left_in_redis, assert_whole
from worker.store.schema.tables import artifacts, attempts, tool_calls, workers

pytestmark = pytest.mark.timeout(300)

DISK = Path(os.environ["STEPMILL_TEST_SMALL_DISK"])


@pytest.fixture
def database_url(request: pytest.FixtureRequest, sqlite_template: Path) -> str:
    """A migrated database on the tiny disk, or where they usually are."""
    if request.param == "usual":
        url: str = request.getfixturevalue("sqlite_url")
        return url
    shutil.copyfile(sqlite_template, DISK / "stepmill.db")
    return f"sqlite:///{DISK / 'stepmill.db'}"


class Ballast:
    """Takes all the room that there is."""

    def __init__(self) -> None:
        self._file = DISK / "ballast"

    def fill(self) -> None:
        with self._file.open("ab", buffering=0) as file:
            for piece in (b"x" * 65_536, b"x"):
                try:
                    while True:
                        file.write(piece)
                except OSError:
                    continue

    def drop(self) -> None:
        self._file.unlink()


@pytest.mark.parametrize("database_url", ["small"], indirect=True)
def test_a_full_disk_under_the_database_loses_nothing_and_work_goes_on_when_there_is_room(fleet: Fleet) -> None:
    ballast = Ballast()
    fleet.practice.control(latency="uniform:0,0.1")
    for _ in range(2):
        fleet.start(slots=4)
    batch = fleet.submit(mixed(60))
    fleet.wait_for_ended(batch, 5)
    ballast.fill()
    said = "the database's disk is full"
    fleet.wait("the workers say so", lambda: all(said in worker.output() for worker in fleet.workers))
    since = time.monotonic()
    fleet.wait("it has been full for long", lambda: time.monotonic() - since > 2 * fleet.settings.takeover_s)
    assert fleet.ended(batch) < 60
    ballast.drop()
    assert fleet.finish(batch) == {"succeeded": 60}
    assert [row.state for row in fleet.rows(select(workers))] == ["up"] * 2
    assert {row.outcome for row in fleet.rows(select(attempts))} <= {"ok", "deferred"}, "no attempt was lost"
    assert_whole(fleet, batch)
    assert_money(fleet)
    assert_nothing_left_in_redis(fleet)


@pytest.mark.parametrize("database_url", ["usual"], indirect=True)
def test_a_file_that_does_not_fit_is_told_of_and_none_of_it_is_left(fleet: Fleet) -> None:
    ballast, data = Ballast(), DISK / "data"
    fleet.env["STEPMILL_DATA_DIR"] = str(data)
    fleet.start()
    ballast.fill()
    assert fleet.finish(fleet.submit(["Use keep(kilobytes=200)."])) == {"succeeded": 1}
    calls = fleet.rows(select(tool_calls))
    assert calls, "the model asked for the file, perhaps more than once"
    for call in calls:
        assert "kept.bin could not be kept: No space left on device" in call.observation
        assert (call.outcome, call.attempt) == ("error", 2), "it was tried again first"
    assert [path for path in data.rglob("*") if path.is_file()] == [] and fleet.rows(select(artifacts)) == []
    ballast.drop()
    assert fleet.finish(fleet.submit(["Use keep(kilobytes=200)."])) == {"succeeded": 1}
    (row,) = fleet.rows(select(artifacts))
    assert Path(row.path).stat().st_size == 200 * 1024
