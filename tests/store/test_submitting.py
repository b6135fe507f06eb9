"""A submission is whole or nothing, also when it arrives twice, breaks off or is left behind."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from tests.store.conftest import World
from worker.store import submit
from worker.store.submit import (
    LOCAL_OWNER,
    DuplicateCustomId,
    NewBatch,
    NewRun,
    SubmissionGone,
    add_runs,
    discard,
    discard_abandoned,
    open_batch,
    put_configuration,
    seal,
)
from worker.store.tables import batches, runs


def questions(world: World, *ids: str | None) -> list[NewRun]:
    config = put_configuration(world.store, {"agent": "assistant"})
    return [NewRun("What?", config, custom_id, {"id": custom_id}) for custom_id in ids]


def counted(world: World) -> tuple[int | None, int | None]:
    with world.store.read() as tx:
        tables = (batches, runs)
        found = [tx.execute(select(func.count()).select_from(table)).scalar() for table in tables]
    return found[0], found[1]


def test_a_submission_that_arrives_again_half_way_replaces_the_first_which_is_told(world: World) -> None:
    first, _ = open_batch(world.store, NewBatch(submission_key="k"))
    add_runs(world.store, first, LOCAL_OWNER, 1, questions(world, "a", "b"))
    second, is_new = open_batch(world.store, NewBatch(submission_key="k"))
    assert is_new and second != first
    with pytest.raises(SubmissionGone):
        add_runs(world.store, first, LOCAL_OWNER, 3, questions(world, "c"))
    assert not seal(world.store, first)
    add_runs(world.store, second, LOCAL_OWNER, 1, questions(world, "a"))
    assert seal(world.store, second) and counted(world) == (1, 1)
    assert open_batch(world.store, NewBatch(submission_key="k")) == (second, False)


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
    config = put_configuration(world.store, {"agent": "assistant"})
    odd = "tab\tback\\slash\nnew line \\N 我爱 \"quotes\" 'x' \u2028"
    new = [NewRun(odd, config, odd[:8], {"k": odd, "n": [1, None, 2.5]}, odd), NewRun("b", config)]
    add_runs(world.store, batch_id, LOCAL_OWNER, 1, new)
    with world.store.read() as tx:
        first, second = tx.execute(select(runs).order_by(runs.c.seq)).all()
    assert (first.question, first.expected, first.metadata) == (odd, odd, {"k": odd, "n": [1, None, 2.5]})
    assert (second.custom_id, second.metadata, second.expected) == (None, None, None)
