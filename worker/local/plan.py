"""Plans the stack on one machine as data: first its addresses, then its services."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import worker.flowerconfig
from worker.local.health import answers_http
from worker.local.ports import HOST, free_port
from worker.local.service import Service

WORKER_READY = re.compile(r"\bready\b")
SERVERS, WORKERS = 0, 1
STEPMILL = (sys.executable, "-P", str(Path(worker.__path__[0]).resolve().parent / "stepmill" / "__main__.py"))
"""How our own processes are started, so that no module in the user's directories shadows ours."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """One `stepmill worker` process."""

    name: str
    queues: str
    pool: str = "threads"
    concurrency: int = 1

    def argv(self, stepmill: tuple[str, ...]) -> tuple[str, ...]:
        options = ("--queues", self.queues, "--pool", self.pool, "--concurrency", str(self.concurrency))
        return (*stepmill, "worker", *options)


DEFAULT_WORKERS = (
    WorkerPlan("think", "think,think.interactive", "threads", 32),
    WorkerPlan("think-interactive", "think.interactive", "threads", 4),
    WorkerPlan("tools", "tools.local,tools.web,tools.data", "prefork", 2),
    WorkerPlan("tools-python", "tools.python", "prefork", 1),
    WorkerPlan("quarantine", "quarantine", "prefork", 1),
)


@dataclass(frozen=True, slots=True)
class StackPlan:
    """What to run. `redis_url` None: a private server; `practice`: with the practice model; port 0: any free port."""

    data_dir: Path
    database_url: str
    redis_url: str | None = None
    practice: bool = True
    api_port: int = 8321
    flower_port: int = 5555
    practice_port: int = 0
    workers: tuple[WorkerPlan, ...] = DEFAULT_WORKERS
    drain_grace_s: float = 8.0
    practice_args: tuple[str, ...] = ()
    extra_env: Mapping[str, str] = field(default_factory=dict)
    stepmill: tuple[str, ...] = STEPMILL
    celery_app: str = "worker.celery_app:app"

    def fixed_ports(self) -> dict[str, int]:
        """Returns the ports that were explicitly requested, by purpose."""
        wanted = {"the API": self.api_port, "Flower": self.flower_port}
        if self.practice:
            wanted["the practice model"] = self.practice_port
        return {name: port for name, port in wanted.items() if port}

    def with_ports(self) -> StackPlan:
        """Returns the plan with each port 0 replaced by a free port."""
        return replace(
            self,
            api_port=self.api_port or free_port(),
            flower_port=self.flower_port or free_port(),
            practice_port=self.practice_port or free_port(),
        )


def addresses(plan: StackPlan) -> dict[str, str]:
    """Returns the addresses for the table that `up` prints."""
    found = {"API": f"http://{HOST}:{plan.api_port}", "Flower": f"http://{HOST}:{plan.flower_port}"}
    if plan.practice:
        found["practice model"] = f"http://{HOST}:{plan.practice_port}/v1"
    return found


def environment(plan: StackPlan, redis_url: str) -> dict[str, str]:
    """Returns the environment of every service, and of every command that joins the stack."""
    env = {
        "STEPMILL_DATA_DIR": str(plan.data_dir.absolute()),
        "STEPMILL_DATABASE_URL": plan.database_url,
        "STEPMILL_REDIS_URL": redis_url,
        "STEPMILL_API_URL": addresses(plan)["API"],
        **plan.extra_env,
    }
    if plan.practice:
        env["STEPMILL_PRACTICE_URL"] = addresses(plan)["practice model"]
    return env


def embedded_services(plan: StackPlan, env: Mapping[str, str]) -> list[Service]:
    """Returns all services but Redis, whose address the environment already contains."""
    upgrade = Service("database", (*plan.stepmill, "db", "upgrade"), env=env, one_shot=True, stage=SERVERS)
    services = [upgrade, *(worker_service(one, plan, env) for one in plan.workers)]
    if plan.practice:
        services.append(practice_service(plan, env))
    return [*services, api_service(plan, env), flower_service(plan, env)]


def worker_service(described: WorkerPlan, plan: StackPlan, env: Mapping[str, str]) -> Service:
    grace_s = plan.drain_grace_s + 7  # for the hand-back of unfinished work, and the end of its pool
    argv = described.argv(plan.stepmill)
    return Service(described.name, argv, env=env, ready_line=WORKER_READY, stop_grace_s=grace_s, stage=WORKERS)


def practice_service(plan: StackPlan, env: Mapping[str, str]) -> Service:
    argv = (*plan.stepmill, "simulate", "--port", str(plan.practice_port), *plan.practice_args)
    return Service("model", argv, env=env, health=answers_http(plan.practice_port, "/v1/models"), stage=SERVERS)


def api_service(plan: StackPlan, env: Mapping[str, str]) -> Service:
    argv = (*plan.stepmill, "serve", "--port", str(plan.api_port))
    return Service("api", argv, env=env, health=answers_http(plan.api_port, "/healthz"), stage=WORKERS)


def flower_service(plan: StackPlan, env: Mapping[str, str]) -> Service:
    config = str(Path(worker.flowerconfig.__file__).absolute())
    options = (f"--conf={config}", f"--address={HOST}", f"--port={plan.flower_port}")
    argv = (*STEPMILL, "celery", "-A", plan.celery_app, "flower", *options)
    health = answers_http(plan.flower_port, "/healthcheck")
    # Flower holds nothing that could be lost, and sometimes ignores the signal.
    return Service("flower", argv, env=env, health=health, stop_grace_s=2, stage=WORKERS)
