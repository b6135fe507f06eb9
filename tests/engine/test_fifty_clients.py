"""Fifty clients at once: nothing breaks, everything is counted, and single questions hardly wait."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx2
import pytest
from sqlalchemy import func, select

from tests.engine.fleet import Fleet
from tests.services.process import free_port
from worker.store.schema.tables import batches, runs

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

CLIENTS = 50
LASTS_S = 120.0
PAUSE_S = 0.5
"""Between two calls of one client."""
LARGE = 20_000
"""Questions of each of two batches that run meanwhile."""


@dataclass
class Seen:
    """What the clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    submitted: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, answer: httpx2.Response) -> None:
        body = answer.json()
        with self.lock:
            self.statuses[answer.status_code] += 1
            if answer.status_code == 201:
                self.submitted[body["batch_id"]] = body.get("taken", 1)


@pytest.fixture
def address(fleet: Fleet) -> Iterator[str]:
    """The API as `serve` runs it, in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "stepmill", "serve", "--port", str(port)]
    with (fleet.directory / "api.log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **fleet._environment({})}, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    fleet.wait("the API answers", lambda: _answers(url), 60)
    yield url
    process.terminate()
    process.wait(30)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def _work(url: str, number: int, seen: Seen, until: float) -> None:
    """What a client does again and again; the first call decides where in the circle it begins."""
    with httpx2.Client(base_url=url, timeout=60) as client:
        turn = number
        while time.monotonic() < until:
            turn += 1
            if turn % 4 == 0:
                seen.note(client.post("/api/batches", json={"runs": ["What is 2 + 2?"] * 20}))
            elif turn % 4 == 1:
                seen.note(client.post("/api/runs", json={"question": "What is 3 * 3?", "klass": "batch"}))
            elif turn % 4 == 2:
                seen.note(client.get("/api/batches?limit=20"))
            else:
                seen.note(client.get("/api/runs?limit=20"))
            time.sleep(PAUSE_S)


def _asking(url: str, seen: Seen, times: int = 10**9, until: float = float("inf")) -> list[float]:
    """How long single questions take to be handed in, one after the other, in seconds."""
    took: list[float] = []
    with httpx2.Client(base_url=url, timeout=60) as client:
        while len(took) < times and time.monotonic() < until:
            began = time.monotonic()
            seen.note(client.post("/api/runs", json={"question": "What is 15 + 7?"}))
            took.append(time.monotonic() - began)
            time.sleep(PAUSE_S / 2)
    return took


def _two_large(url: str, seen: Seen) -> None:
    lines = b"What is 2 + 2?\n" * LARGE
    for _ in range(2):
        seen.note(httpx2.post(f"{url}/api/batches", content=lines, headers={"content-type": "text/plain"}, timeout=120))


@pytest.mark.parametrize("beside", ["fifty clients", "two large batches"])
def test_single_questions_are_taken_fast_and_everything_is_counted(fleet: Fleet, address: str, beside: str) -> None:
    fleet.start(slots=8)
    fleet.start(slots=8)
    seen = Seen()
    idle = statistics.median(_asking(address, seen, times=30))
    lasts = LASTS_S if beside == "fifty clients" else LASTS_S / 4
    until = time.monotonic() + lasts
    if beside == "fifty clients":
        threads = [threading.Thread(target=_work, args=(address, n, seen, until)) for n in range(CLIENTS)]
    else:
        threads = [threading.Thread(target=_two_large, args=(address, seen))]
    for thread in threads:
        thread.start()
    busy = statistics.median(_asking(address, seen, until=until))
    for thread in threads:
        thread.join()
    print(
        f"{beside}, {'postgres' if fleet.store.postgres else 'sqlite'}: idle {idle:.3f} s, busy {busy:.3f} s",
        seen.statuses,
    )
    assert not [status for status in seen.statuses if status >= 500]
    with fleet.store.read() as tx:
        counted = {row.id: row.total for row in tx.execute(select(batches.c.id, batches.c.total))}
        by_batch = select(runs.c.batch_id, func.count().label("rows")).group_by(runs.c.batch_id)
        rows = {row.batch_id: row.rows for row in tx.execute(by_batch)}
    assert counted == rows == seen.submitted
    assert busy < 3 * idle + 0.2
