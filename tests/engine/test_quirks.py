"""What becomes of a question at an endpoint with each quirk, in a native and in a text dialect, over HTTP."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.engine.counter import CountingServer
from tests.engine.fleet import Fleet
from tests.engine.processes import Nursery
from tests.engine.quirks import ANSWER, CALLS, KEY, LONG, MARKED, MOST_CALLS, MOST_REFUSED, Outcome, Row, Table, rows_of
from tests.services.redis import RedisServer
from worker.practice.config import Config
from worker.practice.quirks import QUIRKS
from worker.practice.serving import serve
from worker.store.opening import open_store
from worker.store.schema.tables import metadata

pytestmark = pytest.mark.timeout(300)
ROWS = rows_of(QUIRKS)
WORD = re.compile(r"[^\W\d_]{4,}")
UNREPORTED = {"usage-absent", "usage-null", "usage-empty", "usage-newer", "usage-prompt-only", "bare", "useless"}


def named(row: Row) -> str:
    return f"{row.address}-{row.dialect}"


@pytest.fixture(scope="module")
def fleet(
    nursery: Nursery, sqlite_template: Path, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """One worker, which every row shares."""
    directory = tmp_path_factory.mktemp("quirks")
    for source in sqlite_template.parent.glob(sqlite_template.name + "*"):
        shutil.copyfile(source, directory / source.name.replace("template.db", "stepmill.db"))
    url = f"sqlite:///{directory / 'stepmill.db'}"
    with redis_server.client() as client:
        client.flushall()
    counter = CountingServer()
    with serve(Config()) as practice, counter.serving():
        store = open_store(url, pool_size=4)
        opened = Fleet(nursery, store, url, redis_server.url, practice, counter, directory)
        opened.env["OPENAI_API_KEY"] = KEY
        opened.start(slots=24)
        yield opened
        opened.stop()
        store.dispose()


@pytest.fixture(scope="module")
def table(fleet: Fleet) -> Table:
    """Every row, under way."""
    return Table(fleet, ROWS)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_question_ends_as_its_user_would_want(table: Table, row: Row) -> None:
    found = table.outcome(row)
    assert found.end in row.expected, f"{found.said}\n{found.answer}"
    assert 1 <= len(found.requests) <= MOST_CALLS
    if found.end == "answered":
        assert_answered(row, found)
    else:
        assert found.said and (not row.words or row.words & set(WORD.findall(found.said))), "its own words are told"
        assert len(found.requests) <= MOST_REFUSED, "nothing is gained by asking again"
    if row.question == MARKED:
        assert table.bystander(row) == "succeeded"


def assert_answered(row: Row, found: Outcome) -> None:
    """With the whole answer, after the calls that were meant and no other."""
    assert found.answer is not None
    if row.question == LONG:
        assert found.answer.endswith("6 * 7 = 42")
        return
    assert found.answer.startswith(ANSWER)
    assert found.answer == ANSWER or row.address in ("leak-explained", "key-in-reply", "text-broken")
    real = [call for call in found.calls if call[0] in ("calculator", "count_characters")]
    assert real == CALLS


@pytest.mark.parametrize("row", [row for row in ROWS if "answered" in row.expected], ids=named)
def test_what_replies_cost_is_counted_as_it_was_reported_whatever_became_of_them(table: Table, row: Row) -> None:
    found = table.outcome(row)
    billed = [sum(request[f"{kind}_tokens"] for request in found.requests) for kind in ("prompt", "completion")]
    if row.address in UNREPORTED:
        assert found.used[0] <= billed[0] and found.used[1] <= billed[1]
    else:
        assert list(found.used) == billed


def test_the_key_that_endpoints_sent_back_is_nowhere_in_the_database(table: Table, fleet: Fleet) -> None:
    for row in ROWS:
        if row.address.startswith("key-in-"):
            table.outcome(row)
    for each in metadata.sorted_tables:
        for stored in fleet.rows(select(each)):
            assert KEY not in str(stored), each.name
