"""Lists agents, tools, workers, queues and violated invariants."""

from __future__ import annotations

from fastapi import APIRouter
from redis.exceptions import RedisError

from api.context import Context, Here
from api.schema import answers
from api.shapes import Page
from api.shapes_inventory import AgentShown, Invariants, QueueShown, Tools, WorkerShown
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.core.states import QUEUE_INTERACTIVE, QUEUE_THINK, quarantine_queue
from worker.llm.address import without_password
from worker.results.record import moment
from worker.store.queries.fleet import list_workers, serving, waiting_by_queue
from worker.store.recovery.invariants import HOT, SET_ASIDE, STANDS_STILL, check

router = APIRouter(prefix="/api", tags=["look"])

WATCHED = (*HOT, STANDS_STILL, *SET_ASIDE)


@router.get("/agents", **answers("list_agents", Page[AgentShown]))
def agents(here: Here) -> JsonObject:
    """Lists the agents, each as a new run would be configured now."""
    return {"items": [_agent(here, name) for name in sorted(here.agents.agents)], "next": None}


def _agent(here: Context, name: str) -> JsonObject:
    try:
        return here.agents.configuration(name).body()
    except UserError as error:
        agent = here.agents.get(name)
        shown = {"base_url": without_password(agent.base_url), "problem": error.message}
        return agent.model_dump(mode="json") | shown


@router.get("/tools", **answers("list_tools", Tools))
def tools(here: Here) -> JsonObject:
    """Lists the tools, their limits, and how many workers serve each."""
    workers = serving(here.store)
    items = [
        {
            "name": tool.name,
            "description": tool.description,
            "group": tool.group,
            "queue": tool.queue,
            "parameters": tool.parameters,
            "idempotent": tool.idempotent,
            "timeout_s": tool.timeout_s,
            "max_attempts": tool.max_attempts,
            "origin": tool.origin,
            "workers": workers.get(tool.queue, 0),
        }
        for tool in here.tools.tools.values()
    ]
    problems = [{"module": problem.module, "reason": problem.reason} for problem in here.tools.problems]
    return {"items": items, "next": None, "problems": problems}


@router.get("/workers", **answers("list_workers", Page[WorkerShown]))
def workers(here: Here, all: bool = False) -> JsonObject:
    """Lists the live worker processes, or with `all` past ones too."""
    names = ("name", "host", "pid", "queues", "pool", "slots", "tools", "state", "stuck", "violations")
    items = [
        {"worker_id": row.id}
        | {name: getattr(row, name) for name in names}
        | {"started_at": moment(row.started_at), "beat_at": moment(row.beat_at), "ended_at": moment(row.ended_at)}
        for row in list_workers(here.store, all)
    ]
    return {"items": items, "next": None}


@router.get("/invariants", **answers("check_invariants", Invariants))
def invariants(here: Here) -> JsonObject:
    """Lists violations of the rules for hot set and admission, and the counts of live workers."""
    items = [
        {"name": one.name, "says": one.says, "subject": one.subject, "seen": one.seen}
        for one in check(here.store, invariants=WATCHED)
    ]
    counted = sum(int(row.violations) for row in list_workers(here.store))
    checks = [{"name": one.name, "says": one.says} for one in WATCHED]
    return {"items": items, "next": None, "counted": counted, "checks": checks}


@router.get("/queues", **answers("list_queues", Page[QueueShown]))
def queues(here: Here) -> JsonObject:
    """Lists for each queue its length in Redis, its due but unclaimed work, and its workers."""
    workers, waiting = serving(here.store), waiting_by_queue(here.store)
    usual = {QUEUE_THINK, *(tool.queue for tool in here.tools.tools.values())}
    names = {QUEUE_INTERACTIVE, *usual, *map(quarantine_queue, usual), *workers, *waiting}
    try:
        lengths: dict[str, int] = here.sender.lengths(names)
    except RedisError:
        lengths = {}
    items = [
        {
            "queue": name,
            "length": lengths.get(name),
            "waiting": waiting[name].count if name in waiting else 0,
            "oldest_age_s": round(waiting[name].oldest_age_s, 3) if name in waiting else None,
            "workers": workers.get(name, 0),
        }
        for name in sorted(names)
    ]
    return {"items": items, "next": None}
