"""Whether this process is up, and whether it can do its work."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Response
from redis.exceptions import OutOfMemoryError, RedisError
from sqlalchemy.exc import SQLAlchemyError

from api.context import Context, Here
from api.schema import answers
from api.shapes_inventory import Alive, Ready
from worker.core.records import JsonObject
from worker.store.queries.admission import admission_health
from worker.store.schema.migrate import mismatch

router = APIRouter(tags=["health"])

_READY = answers("is_ready", Ready)
_READY["responses"][503] = {"model": Ready, "description": "It cannot work; `checks` says why"}


@router.get("/healthz", **answers("is_alive", Alive))
async def healthz() -> JsonObject:
    """Answers 200 while the process runs."""
    return {"status": "ok"}


@router.get("/readyz", **_READY)
def readyz(here: Here, response: Response) -> JsonObject:
    """Checks database, migrations and Redis, and that waiting runs are being admitted."""
    checks = {name: _checked(check, here) for name, check in _CHECKS.items()}
    ready = all(check["ok"] for check in checks.values())
    if not ready:
        response.status_code = 503
    return {"status": "ready" if ready else "not ready", "checks": checks}


def _checked(check: Callable[[Context], str], here: Context) -> JsonObject:
    try:
        problem = check(here)
    except SQLAlchemyError:
        problem = "The database cannot be reached."
    except OutOfMemoryError:
        problem = "Redis is full: it takes no messages. Raise its maxmemory, or find what else fills it."
    except RedisError:
        problem = "Redis cannot be reached, or takes no writes."
    return {"ok": not problem, "message": problem or "ok"}


def _database(here: Context) -> str:
    here.store.now()
    return ""


def _migrations(here: Context) -> str:
    return mismatch(here.store)


def _redis(here: Context) -> str:
    here.sender.check_room()
    return ""


def _admission(here: Context) -> str:
    return "It needs the migrations." if _migrations(here) else admission_health(here.store).problem


_CHECKS: dict[str, Callable[[Context], str]] = {
    "database": _database,
    "migrations": _migrations,
    "redis": _redis,
    "admission": _admission,
}
