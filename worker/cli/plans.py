"""Plans the stack of this directory from the settings and the registered tools."""

from __future__ import annotations

from dataclasses import replace

from tools.registry import Registry, load_tools
from worker.core.states import QUEUE_INTERACTIVE, QUEUE_QUARANTINE, QUEUE_THINK, quarantine_queue
from worker.local.plan import StackPlan, WorkerPlan
from worker.settings import Settings

SHORT_GRACE_S = 2.0
PYTHON_GROUP = "python"
"""Runs programs that models write, so it gets its own processes."""


def stack_plan(settings: Settings, *, api_port: int = 0, flower_port: int = 0) -> StackPlan:
    """Returns the plan of the complete stack at full size."""
    return StackPlan(
        data_dir=settings.data_dir,
        database_url=settings.database,
        redis_url=settings.redis_url or None,
        practice=settings.practice and not settings.practice_url,
        api_port=api_port,
        flower_port=flower_port,
        workers=(
            WorkerPlan("think", f"{QUEUE_THINK},{QUEUE_INTERACTIVE}", "threads", 32),
            WorkerPlan("think-interactive", QUEUE_INTERACTIVE, "threads", 4),
            *_tool_workers(load_tools(settings.tool_modules)),
            WorkerPlan("quarantine", QUEUE_QUARANTINE, "prefork", 1),
        ),
        drain_grace_s=settings.drain_grace_s,
        extra_env={"STEPMILL_TOOL_MODULES": ",".join(settings.tool_modules)},
    )


def small_plan(settings: Settings) -> StackPlan:
    """Returns the plan for one command: free ports, and few processes, since each takes a second to start."""
    full = stack_plan(settings)
    groups = [f"tools.{group}" for group in sorted(load_tools(settings.tool_modules).groups())]
    grace_s = min(SHORT_GRACE_S, settings.drain_grace_s)
    return replace(
        full,
        workers=(
            WorkerPlan("think", f"{QUEUE_THINK},{QUEUE_INTERACTIVE}", "threads", 32),
            WorkerPlan("tools", ",".join([*groups, QUEUE_QUARANTINE]), "prefork", 2),
        ),
        drain_grace_s=grace_s,
        extra_env={**full.extra_env, "STEPMILL_DRAIN_GRACE_S": str(grace_s)},
    )


def known_queues(registry: Registry) -> list[str]:
    """Returns every queue in which work of this installation can wait."""
    groups = [f"tools.{group}" for group in sorted(registry.groups())]
    return [QUEUE_THINK, QUEUE_INTERACTIVE, *groups, *(quarantine_queue(queue) for queue in (QUEUE_THINK, *groups))]


def _tool_workers(registry: Registry) -> list[WorkerPlan]:
    shared = [f"tools.{group}" for group in sorted(registry.groups()) if group != PYTHON_GROUP]
    workers = [WorkerPlan("tools", ",".join(shared), "prefork", 2)] if shared else []
    if PYTHON_GROUP in registry.groups():
        workers.append(WorkerPlan("tools-python", f"tools.{PYTHON_GROUP}", "prefork", 1))
    return workers
