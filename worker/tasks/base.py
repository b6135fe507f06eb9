"""The base of think and tool tasks: Flower shows discarded messages and failed attempts apart from successes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from celery import Celery, Task
from celery.exceptions import Ignore

from worker.core.states import QUEUE_QUARANTINE, quarantine_queue
from worker.core.work_messages import WorkMessage
from worker.dispatch import THINK_TASK
from worker.settings import settings
from worker.tasks.attempt import AttemptFailed
from worker.tasks.runtime import Runtime, build_runtime


class WorkTask(Task):  # type: ignore[misc]  # celery has no types
    """A task whose message carries ids only."""

    abstract = True
    throws = (AttemptFailed,)
    ignore_result = True
    acks_late = False
    typing = False

    def discard(self) -> Ignore:
        """Returns the exception to raise for a message that this worker may not act on; Flower shows DISCARDED.

        Celery's REJECTED ranks before STARTED, so Flower would never show it.
        """
        self.send_event("task-discarded", retry=False)
        return Ignore()

    def leave_to_others(self, rt: Runtime, queue: str, ids: Sequence[Any]) -> None:
        """Passes the message on and ends the task with an exception if this process must not do the work.

        That is so on a draining worker, which may not claim, and for a message that version 0.1.0 sent to its single
        quarantine queue, which goes to the quarantine of its kind. `queue` is the usual queue of such work.
        """
        came_by = self.request.delivery_info["routing_key"]
        if came_by == QUEUE_QUARANTINE:
            self._send(rt, quarantine_queue(queue), ids)
        elif rt.draining.is_set():
            self._send(rt, came_by, ids)
        else:
            return
        raise self.discard()

    def _send(self, rt: Runtime, queue: str, ids: Sequence[Any]) -> None:
        tool = "" if self.name == THINK_TASK else self.name.removeprefix("tools.")
        run_id, step, call, attempt = ids
        rt.dispatcher.send([WorkMessage(run_id, step, call, attempt, queue, tool)])


_runtimes: dict[str, Runtime] = {}


def runtime(app: Celery) -> Runtime:
    """Returns this process's runtime, built at first use: a spawned pool child opens its own connections."""
    if "one" not in _runtimes:
        _runtimes["one"] = build_runtime(settings(), app)
    return _runtimes["one"]


def install(one: Runtime) -> None:
    """Sets this process's runtime, for a worker's parent process or a test."""
    _runtimes["one"] = one
