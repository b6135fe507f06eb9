"""Concurrent submissions share one admission."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Connection

from tests.api.conftest import Recorder
from tests.services.waiting import wait_until
from tests.store.conftest import World
from worker.admitter import Admitter
from worker.store.admission.admit import Capacity

UPLOADS_AT_ONCE = 20


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_threads_that_ask_at_once_are_served_by_few_admissions(world: World) -> None:
    store, sender = world.store, Recorder()
    admitter = Admitter(store, sender, Capacity(hot_set=100))  # type: ignore[arg-type]
    world.submit(5)
    commits: list[Connection] = []
    asking = threading.Semaphore(0)

    def ask() -> None:
        asking.release()
        admitter.admit_now()

    threads = [threading.Thread(target=ask) for _ in range(UPLOADS_AT_ONCE)]
    with store.write():
        event.listen(store.engine, "commit", commits.append)
        for thread in threads:
            thread.start()
        for _ in threads:
            asking.acquire()
        wait_until("all have asked", lambda: all(thread.is_alive() for thread in threads))
    for thread in threads:
        thread.join(timeout=20)
    assert len(sender.work_messages) == 5
    assert len(commits) - 1 <= UPLOADS_AT_ONCE // 2, "the first, those that asked meanwhile, and few more"
    world.submit()
    admitter.admit_now()
    assert len(sender.work_messages) == 6, "who asks later is served by an admission of its own"
