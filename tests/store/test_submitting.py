"""A submission is stored completely or not at all, even if it arrives twice, breaks off or is abandoned."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest
from sqlalchemy import func, select

from tests.store.conftest import World
from worker.core.config import RunConfig
from worker.store.admission import submit
from worker.store.admission.submit import (
    LEFT_S,
    LOCAL_OWNER,
    DuplicateCustomId,
    NewBatch,
    NewRun,
    SubmissionBusy,
    SubmissionGone,
    add_runs,
    discard,
    discard_abandoned,
    fingerprint_of,
    open_batch,
    seal,
    still_filling,
)
from worker.store.configurations import put_configuration
from worker.store.schema.tables import batches, runs
from worker.store.session import CLOCK


def questions(world: World, *ids: str | None) -> list[NewRun]:
    config = put_configuration(world.store, RunConfig(name="assistant"))
    return [NewRun("What?", config, custom_id, {"id": custom_id}) for custom_id in ids]


def counted(world: World) -> tuple[int | None, int | None]:
    with world.store.read() as tx:
        tables = (batches, runs)
        found = [tx.execute(select(func.count()).select_from(table)).scalar() for table in tables]
    return found[0], found[1]


@pytest.mark.usefixtures("stepped_clock")
def test_a_submission_that_was_left_half_way_is_replaced_and_whoever_fills_it_is_told(world: World) -> None:
    assert CLOCK.moment is not None
    first, _ = open_batch(world.store, NewBatch(submission_key="k"))
    add_runs(world.store, first, LOCAL_OWNER, 1, questions(world, "a", "b"))
    CLOCK.moment += LEFT_S + 1
    second, is_new = open_batch(world.store, NewBatch(submission_key="k"))
    assert is_new and second != first
    with pytest.raises(SubmissionGone):
        add_runs(world.store, first, LOCAL_OWNER, 3, questions(world, "c"))
    assert not seal(world.store, first)
    add_runs(world.store, second, LOCAL_OWNER, 1, questions(world, "a"))
    assert seal(world.store, second, fingerprint="f") and counted(world) == (1, 1)
    assert open_batch(world.store, NewBatch(submission_key="k")) == (second, False)
    assert fingerprint_of(world.store, second) == "f"


@pytest.mark.usefixtures("stepped_clock")
def test_a_submission_that_shows_life_is_waited_for_and_never_replaced(world: World) -> None:
    assert CLOCK.moment is not None
    first, _ = open_batch(world.store, NewBatch(submission_key="k"))
    for _ in range(5):
        CLOCK.moment += LEFT_S - 1
        still_filling(world.store, first)
        with pytest.raises(SubmissionBusy):
            open_batch(world.store, NewBatch(submission_key="k"), wait_s=0.0)
    assert open_batch(world.store, NewBatch(submission_key="k2"), wait_s=0.0)[1], "another key is free"
    add_runs(world.store, first, LOCAL_OWNER, 1, questions(world, "a"))
    with ThreadPoolExecutor(4) as others:
        waiting = [others.submit(open_batch, world.store, NewBatch(submission_key="k")) for _ in range(4)]
        assert seal(world.store, first)
        assert {one.result(timeout=20) for one in waiting} == {(first, False)}


def test_of_many_who_open_the_same_submission_at_once_one_does(world: World) -> None:
    with ThreadPoolExecutor(10) as many:
        opening = [many.submit(open_batch, world.store, NewBatch(submission_key="k")) for _ in range(10)]
        first = next(as_completed(opening)).result()
        seal(world.store, first[0])
        found = [one.result(timeout=20) for one in opening]
    assert {batch_id for batch_id, _ in found} == {first[0]}
    assert sorted(is_new for _, is_new in found) == [False] * 9 + [True]


def test_a_repeated_custom_id_is_told_apart_by_where_it_stands(world: World) -> None:
    batch_id, _ = open_batch(world.store, NewBatch())
    add_runs(world.store, batch_id, LOCAL_OWNER, 1, questions(world, "a", None, None))
    with pytest.raises(DuplicateCustomId) as told:
        add_runs(world.store, batch_id, LOCAL_OWNER, 4, questions(world, "x", "a", "b", "b"))
    assert told.value.stored == {"a"} and str(told.value) == "a, b"
    assert counted(world) == (1, 3), "of the chunk nothing was taken"
    with world.store.read() as tx:
        assert tx.execute(select(batches.c.total)).scalar() == 3


def test_discarding_goes_in_short_transactions_and_spares_what_is_sealed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit, "DISCARDED_AT_ONCE", 3)
    batch_id, _ = open_batch(world.store, NewBatch())
    add_runs(world.store, batch_id, LOCAL_OWNER, 1, questions(world, *map(str, range(10))))
    kept, _ = world.submit(2)
    discard(world.store, kept)
    assert counted(world) == (2, 12)
    discard(world.store, batch_id)
    discard(world.store, batch_id)
    assert counted(world) == (1, 2)


def test_submissions_left_behind_are_cleared_away_after_a_while(world: World) -> None:
    batch_id, _ = open_batch(world.store, NewBatch())
    add_runs(world.store, batch_id, LOCAL_OWNER, 1, questions(world, "a"))
    assert discard_abandoned(world.store, 3_600.0) == 0
    assert discard_abandoned(world.store, -1.0) == 1
    assert counted(world) == (0, 0)


def test_metadata_and_text_of_any_kind_come_back_as_they_went_in(world: World) -> None:
    batch_id, _ = open_batch(world.store, NewBatch())
    config = put_configuration(world.store, RunConfig(name="assistant"))
    odd = "tab\tback\\slash\nnew line \\N 我爱 \"quotes\" 'x' \u2028"
    new = [NewRun(odd, config, odd[:8], {"k": odd, "n": [1, None, 2.5]}, odd), NewRun("b", config)]
    add_runs(world.store, batch_id, LOCAL_OWNER, 1, new)
    with world.store.read() as tx:
        first, second = tx.execute(select(runs).order_by(runs.c.seq)).all()
    assert (first.question, first.expected, first.metadata) == (odd, odd, {"k": odd, "n": [1, None, 2.5]})
    assert (second.custom_id, second.metadata, second.expected) == (None, None, None)
