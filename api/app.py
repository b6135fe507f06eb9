"""The application: `uvicorn --factory api.app:app`. Listen on loopback unless a key is set (`api.binding`)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import Depends, FastAPI
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import SQLAlchemyError

from api import problems, schema
from api.context import Context
from api.guard import Guard
from api.http_methods import Verbs, ways
from api.listening import Listener
from api.routes import artifacts, batch_events, batches, events, health, held, models, reference, results, runs, usage
from api.routes import inventory as look
from api.scores import Scores
from api.unknown_parameters import known_names_only
from api.upload import Rooms
from tools.registry import load_tools
from worker.admitter import Admitter, capacity_of
from worker.agents import load_agents
from worker.celery_app import app as celery_app
from worker.dispatch import Dispatcher, connect_redis
from worker.llm.prices import PriceTable
from worker.settings import settings as read_settings
from worker.store.admission.submit import discard_abandoned
from worker.store.opening import open_store

log = logging.getLogger(__name__)

ABANDONED_S = 24 * 3600.0
"""A submission that is still unfinished after this long is discarded: its client is gone."""
LEAST_READERS = 4
"""Requests that are handled at once even if the process may hold only a few database connections."""


def create_app(context: Context) -> FastAPI:
    """Returns the application for a context. Its admitter starts and stops with the application."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        app.state.rooms = Rooms()
        # Fewer threads than connections, so that a submission always finds a connection, however many clients read.
        anyio.to_thread.current_default_thread_limiter().total_tokens = max(LEAST_READERS, context.settings.db_pool - 2)
        await run_in_threadpool(_tidy, context)
        context.admitter.start()
        context.admitter.wake()
        yield
        await run_in_threadpool(context.admitter.stop)
        context.store.dispose()

    named = [Depends(known_names_only)]
    app = FastAPI(title="stepmill", lifespan=running, docs_url=None, redoc_url=None, dependencies=named)
    app.state.context = context
    app.state.listener = Listener(context.sender.heard)
    concerns = (batches, results, runs, held, artifacts, events, batch_events, look, models, usage, health)
    for concern in concerns:
        app.include_router(concern.router, responses=schema.refusals(*schema.EVERYWHERE))
    app.include_router(reference.router)
    problems.install(app)
    schema.install(app, needs_key=bool(context.settings.admin_key))
    routes = [*app.routes, *(route for one in (*concerns, reference) for route in one.router.routes)]
    app.add_middleware(Verbs, known=ways(routes))
    app.add_middleware(Guard, admin_key=context.settings.admin_key)
    return app


def _tidy(context: Context) -> None:
    try:
        discard_abandoned(context.store, ABANDONED_S)
    except SQLAlchemyError as error:
        # The database is not migrated, or unreachable: `/readyz` reports it, and the API starts anyway.
        log.warning("Abandoned submissions could not be cleared away: %s", type(error).__name__)


def app() -> FastAPI:
    """Returns the application configured by this process's settings."""
    settings = read_settings()
    store = open_store(settings.database, settings.db_pool, tested=True)
    sender = Dispatcher(celery_app, connect_redis(settings.redis))
    admitter = Admitter(store, sender, capacity_of(settings))
    agents, tools = load_agents(settings), load_tools(settings.tool_modules)
    prices = PriceTable.load(settings.prices_file)
    return create_app(Context(settings, store, agents, tools, sender, admitter, Scores(store), prices))
