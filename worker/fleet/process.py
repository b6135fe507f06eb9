"""A worker process: a Celery worker with a heartbeat, a sweeper, an admitter and a drain."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterable
from typing import Any

import psutil
from celery import signals
from celery.worker import state as celery_state
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from tools.kit.process_tree import kill_descendants
from worker.admitter import Admitter, capacity_of
from worker.celery_app import app
from worker.core.errors import StopReason
from worker.core.states import (
    QUEUE_INTERACTIVE,
    QUEUE_QUARANTINE,
    QUEUE_THINK,
    Outcome,
    quarantine_queue,
)
from worker.dispatch import ABORT_CHANNEL, connect_redis
from worker.fleet.drain import Drain
from worker.fleet.sweeper import Sweeper
from worker.settings import settings
from worker.store.control.stopping import note_stopped
from worker.store.errors import trouble
from worker.store.recovery import takeover
from worker.store.recovery.liveness import WorkerInfo, beat, ended_among, register
from worker.tasks.base import install
from worker.tasks.database_retry import retry_on_outage
from worker.tasks.requests import REPORTS
from worker.tasks.runtime import Runtime, build_runtime
from worker.tasks.turnstile import Turnstile

log = logging.getLogger(__name__)

CHATTY = ("celery.worker.strategy", "httpx2")
"""Loggers that write a line per message or request, which Celery's line at the end of each task makes redundant."""


class WorkerProcess:
    """What a worker runs besides tasks. `info` is what it registers about itself."""

    def __init__(self, rt: Runtime, info: WorkerInfo) -> None:
        self.rt = rt
        self.info = info
        self._idempotent = {tool.name: tool.idempotent for tool in rt.registry.tools.values()}
        self._seen_ended: set[str] = set()
        self.admitter = Admitter(rt.store, rt.dispatcher, capacity_of(rt.settings))
        rt.wake_admitter = self.admitter.wake
        self.sweeper = Sweeper(rt)
        self.drain = Drain(rt, self._idempotent, (self.sweeper.stop, self.admitter.stop))
        self._stopping = self.drain.ended
        self._threads = [
            threading.Thread(target=self._beat, name="heartbeat", daemon=True),
            threading.Thread(target=self._listen, name="abort-listener", daemon=True),
        ]

    def start(self) -> None:
        """Registers the worker and starts its threads. Raises the database's error if it is unreachable."""
        self.rt.identity.become(register(self.rt.store, self.info))
        REPORTS.report = self.report_lost
        for thread in self._threads:
            thread.start()
        self.admitter.start()
        self.sweeper.start()
        self.admitter.wake()

    def report_lost(self, run_id: str, step: int, call: int, attempt: int, outcome: Outcome) -> None:
        """Gives back the call of a pool child that died or was killed, without waiting for a sweep.

        Retries while the database is unreachable: this worker is alive, so the call would wait for its deadline.
        """
        retry_on_outage(
            "report", lambda: self._report_lost(run_id, step, call, attempt, outcome), self._stopping.is_set
        )

    def _report_lost(self, run_id: str, step: int, call: int, attempt: int, outcome: Outcome) -> None:
        lease = takeover.attempt_lease(self.rt.store, run_id, step, call, attempt, self.rt.identity.id)
        if lease is None:
            note_stopped(self.rt.store, run_id)  # its run was cancelled, and its attempt has now stopped
            return
        tool = takeover.tool_of(self.rt.store, lease)
        why = "its pool process died" if outcome == Outcome.LOST else "the tool did not finish in time and was killed"
        applied = takeover.release(self.rt.store, takeover.OpenAttempt(lease, tool, outcome), self._idempotent, why)
        if applied is not None:
            self.rt.dispatcher.changed((run_id,))
            self.rt.dispatcher.send(applied.work_messages)
            if applied.ended:
                self.admitter.wake()

    def _beat(self) -> None:
        while not self._stopping.wait(self.rt.settings.beat_s):
            try:
                stuck = self.rt.in_flight.overdue()
                if not beat(self.rt.store, self.rt.identity.id, stuck):
                    self._rise_again()
                self.rt.identity.touch()
                self._stop_what_has_ended()
                if stuck >= self.rt.settings.max_stuck_threads and not self.rt.draining.is_set():
                    log.error("%d threads are stuck: this worker retires", stuck)
                    os.kill(os.getpid(), signal.SIGTERM)
            except SQLAlchemyError as error:
                log.warning("No heartbeat: %s", trouble(error))
            except Exception:  # without further beats this worker would be declared dead
                log.exception("A heartbeat failed")

    def _stop_what_has_ended(self) -> None:
        """Stops work for ended runs. Redis announces aborts; this finds those that were missed, a heartbeat later."""
        busy = set(self.rt.in_flight.tokens().values())
        busy |= {request.args[0] for request in list(celery_state.active_requests) if request.args}
        ended = ended_among(self.rt.store, sorted(busy)) if busy else set()
        # Only if seen twice: work that has just ended by itself must not be interrupted while it cleans up.
        self._stop_runs(ended & self._seen_ended)
        self._seen_ended = ended

    def _rise_again(self) -> None:
        """Registers under a new id after the worker was declared dead, say while frozen; its leases are lost."""
        log.warning("This worker was declared dead: it aborts its work and registers again")
        self.rt.in_flight.abort_all(StopReason.CANCEL)
        if not self.rt.draining.is_set():
            self.rt.identity.become(register(self.rt.store, self.info))

    def _listen(self) -> None:
        """Stops attempts of cancelled runs as soon as Redis announces them."""
        while not self._stopping.is_set():
            try:
                self._listen_once()
            except (RedisError, OSError) as error:
                log.warning("Cannot listen for aborts at the moment: %s", type(error).__name__)
                self._stopping.wait(1.0)

    def _listen_once(self) -> None:
        with (
            connect_redis(self.rt.settings.redis) as client,
            client.pubsub(ignore_subscribe_messages=True) as channel,
        ):
            channel.subscribe(ABORT_CHANNEL)
            while not self._stopping.is_set():
                message = channel.get_message(timeout=1.0)
                if message is not None:
                    self._stop_runs(set(json.loads(message["data"])))

    def _stop_runs(self, run_ids: set[str]) -> None:
        self.rt.in_flight.abort_runs(run_ids, StopReason.CANCEL)
        for request in list(celery_state.active_requests):
            if self.info.pool == "prefork" and request.args and request.args[0] in run_ids and request.first_stop():
                threading.Thread(target=_stop_child, args=(request,), name="stop-child", daemon=True).start()


def _stop_child(request: Any) -> None:
    """Interrupts a pool child that works for a cancelled run; kills it if it does not stop within a second."""
    pid = request.worker_pid
    if pid is None:
        return
    try:
        child = psutil.Process(pid)
        child.send_signal(signal.SIGUSR1)  # the child raises SoftTimeLimitExceeded in the tool, which cleans up
        deadline = time.monotonic() + 1.0
        while request in celery_state.active_requests and time.monotonic() < deadline:
            time.sleep(0.05)
        if request in celery_state.active_requests:
            kill_descendants(pid)
            child.kill()
    except psutil.NoSuchProcess:
        return  # it ended by itself


def _with_quarantine(queues: list[str], groups: Iterable[str]) -> list[str]:
    """Expands `quarantine` to every kind's queue, and adds it, for messages of version 0.1.0, if one is served."""
    kinds = [quarantine_queue(kind) for kind in (QUEUE_THINK, *sorted(groups))]
    if QUEUE_QUARANTINE in queues:
        return list(dict.fromkeys([*queues, *kinds]))
    return [*queues, QUEUE_QUARANTINE] if set(queues) & set(kinds) else queues


def run_worker(queues: list[str], pool: str, concurrency: int, name: str | None = None) -> int:
    """Runs a worker until it receives a signal to stop; returns the exit code. `pool` is `threads` or `prefork`."""
    rt = build_runtime(settings(), app)
    rt.turnstile = Turnstile.for_threads(concurrency)
    install(rt)
    queues = _with_quarantine(queues, rt.registry.groups())
    label = name or f"{'+'.join(queues)}@{socket.gethostname()}"
    thinks = {QUEUE_THINK, QUEUE_INTERACTIVE} & set(queues)
    tools = [tool.name for tool in rt.registry.tools.values() if tool.queue in queues]
    process = WorkerProcess(rt, WorkerInfo(label, queues, pool, concurrency, [] if thinks else tools))

    def ready(**_: Any) -> None:
        log.info("%s is ready: %d %s for %s", label, concurrency, pool, ", ".join(queues))

    for chatty in CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)
    process.start()
    signals.worker_ready.connect(ready, weak=False)
    signals.worker_shutting_down.connect(lambda **_: process.drain.begin(), weak=False)
    hostname = f"{name or queues[0]}-{rt.identity.id[:8]}@%h"
    argv = [
        "worker", "--queues", ",".join(queues), "--pool", pool, "--concurrency", str(concurrency),
        "--hostname", hostname, "--without-mingle", "--without-gossip", "--loglevel", "INFO",
    ]  # fmt: skip
    try:
        app.worker_main(argv)
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        process.drain.end()
    return 0
