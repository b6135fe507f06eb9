"""The worker identity that holds a process's leases: its pool children know it, and no other worker shares it."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.tasks.identity import WorkerIdentity

VARIABLE = "STEPMILL_OWNER_FILE"


@pytest.fixture(autouse=True)
def restored_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")


def test_a_pool_child_reads_its_parents_id_and_the_new_one_after_the_parent_registered_anew() -> None:
    parent = WorkerIdentity.from_environment()
    parent.become("first")
    child = WorkerIdentity.from_environment()
    assert child.id == "first" and not child.refused()
    parent.become("second")
    assert child.refused() and child.id == "second"
    parent.forget()
    assert not child.refused() and child.id == "second"


def test_a_worker_started_by_another_worker_leaves_that_ones_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "owner"
    other.write_text("other")
    monkeypatch.setenv(VARIABLE, str(other))
    mine = WorkerIdentity.from_environment()
    mine.become("mine")
    assert mine.id == "mine" and WorkerIdentity.from_environment().id == "mine"
    assert other.read_text() == "other"
    mine.forget()
    assert other.exists()


def test_a_process_that_never_registered_has_no_id() -> None:
    with pytest.raises(RuntimeError, match="has not registered"):
        _ = WorkerIdentity.from_environment().id
