"""One listener per API process: it hears which runs changed, and wakes the streams that follow them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from redis.exceptions import RedisError

log = logging.getLogger(__name__)

QUIET_S = 10.0
"""The listener stops after this long without streams, so that workers need not publish changes."""
AGAIN_S = 1.0
SLOW_S = 3.0
"""Seconds between a stream's reads of the database while it hears nothing."""
FAST_S = 0.5
"""The same while Redis is away, and for the first `FIRST_S`, until every worker knows that a listener exists."""
FIRST_S = 2.0

MOST_RUNS = 2_000
"""Most run ids kept for a stream that follows many runs."""

Heard = Callable[[], Iterator[Sequence[str]]]


class Ear:
    """Wakes one stream. Use it in the event loop only."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._event = asyncio.Event()
        self._began = time.monotonic()
        self.run_ids: set[str] = set()
        """Runs that changed, for streams that follow many. Bounded, because the stream empties it only now and then."""

    def tell(self, run_ids: Iterable[str]) -> None:
        if len(self.run_ids) < MOST_RUNS:
            self.run_ids.update(run_ids)
        self._event.set()

    async def wait(self) -> None:
        """Waits until a change was heard, or until the next regular read is due."""
        fast = not self._listener.hears or time.monotonic() - self._began < FIRST_S
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), FAST_S if fast else SLOW_S)
        self._event.clear()

    async def wait_at_least(self, seconds: float, since: float) -> None:
        """Waits as `wait` does, and until `seconds` have passed since the monotonic time `since`."""
        await self.wait()
        await asyncio.sleep(max(0.0, since + seconds - time.monotonic()))


class Listener:
    """Listens while streams follow runs. `heard` never ends by itself, and raises while Redis is away."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._of_run: dict[str, set[Ear]] = {}
        self._of_all: set[Ear] = set()
        self._lock = threading.Lock()
        self._followers = 0
        self._thread: threading.Thread | None = None
        self.hears = False

    @contextmanager
    def follow(self, run_id: str | None = None) -> Iterator[Ear]:
        """Yields an `Ear` for one run, or for all runs if None. Use it in the event loop."""
        ear = Ear(self)
        ears = self._of_all if run_id is None else self._of_run.setdefault(run_id, set())
        ears.add(ear)
        self._count(1)
        try:
            yield ear
        finally:
            self._count(-1)
            ears.discard(ear)
            if run_id is not None and not ears and self._of_run.get(run_id) is ears:
                del self._of_run[run_id]

    def _count(self, more: int) -> None:
        with self._lock:
            self._followers += more
            if self._followers and self._thread is None:
                loop = asyncio.get_running_loop()
                self._thread = threading.Thread(target=self._run, args=(loop,), name="listener", daemon=True)
                self._thread.start()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._done():
            try:
                self._listen(loop)
            except (RedisError, OSError) as error:
                log.warning("Changes of runs cannot be heard now: %s", type(error).__name__)
            except RuntimeError:
                return  # the event loop is closed: the process is ending
            finally:
                self.hears = False
            time.sleep(AGAIN_S)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        wanted_at = time.monotonic()
        for run_ids in self._heard():
            self.hears = True
            if run_ids:
                loop.call_soon_threadsafe(self._wake, run_ids)
            if self._followers:
                wanted_at = time.monotonic()
            elif time.monotonic() - wanted_at > QUIET_S:
                return

    def _done(self) -> bool:
        with self._lock:
            if self._followers or self._thread is not threading.current_thread():
                return False
            self._thread = None
            return True

    def _wake(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            for ear in self._of_run.get(run_id, ()):
                ear.tell((run_id,))
        for ear in self._of_all:
            ear.tell(run_ids)
