"""The Celery tasks: `think`, and a task type for each tool, so that Flower and Prometheus show each tool by name."""

from __future__ import annotations

from typing import Any

from celery import Celery

from tools.base import Tool
from tools.registry import load_tools
from worker.core.states import QUEUE_THINK
from worker.dispatch import THINK_TASK
from worker.settings import settings
from worker.tasks.attempt import Discarded
from worker.tasks.base import WorkTask, runtime
from worker.tasks.requests import WatchedRequest
from worker.tasks.think import think
from worker.tasks.tool_call import call_tool

HARD_LIMIT_MARGIN_S = 5.0
"""Seconds past its soft time limit after which a tool is killed together with its pool child."""


def register(app: Celery) -> None:
    """Registers the tasks with the application."""

    # In a prefork pool (quarantine) the parent also reports the death of a model call's process at once.
    @app.task(name=THINK_TASK, base=WorkTask, bind=True, shared=False, Request=WatchedRequest)
    def think_task(self: WorkTask, run_id: str, step: int, call: int, attempt: int) -> str:
        rt = runtime(app)
        self.leave_to_others(rt, QUEUE_THINK, (run_id, step, call, attempt))
        try:
            return think(rt, run_id, step, attempt)
        except Discarded:
            raise self.discard() from None

    for tool in load_tools(settings().tool_modules).tools.values():
        _register_tool(app, tool)


def _register_tool(app: Celery, tool: Tool) -> None:
    def run(self: WorkTask, run_id: str, step: int, call: int, attempt: int) -> str:
        rt = runtime(app)
        self.leave_to_others(rt, tool.queue, (run_id, step, call, attempt))
        try:
            return call_tool(rt, tool, run_id, step, call, attempt)
        except Discarded:
            raise self.discard() from None

    limits: dict[str, Any] = {
        "soft_time_limit": tool.timeout_s + 1.0,
        "time_limit": tool.timeout_s + 1.0 + HARD_LIMIT_MARGIN_S,
    }
    app.task(run, name=tool.task_name, base=WorkTask, bind=True, shared=False, Request=WatchedRequest, **limits)
