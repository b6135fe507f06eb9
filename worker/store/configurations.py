"""The configurations of runs, each stored once under its hash."""

from __future__ import annotations

import hashlib

import orjson
from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from worker.core.config import RunConfig
from worker.store.schema.tables import configurations
from worker.store.session import Store


def put_configuration(store: Store, config: RunConfig) -> str:
    """Stores a configuration unless it is already there, and returns its hash."""
    body = config.body()
    digest = hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()[:24]
    times = {"time_limit_s": config.time_limit_s, "call_time_limit_s": config.call_time_limit_s}
    row = {"hash": digest, "body": body, **times}
    with store.read() as tx:
        if tx.execute(select(configurations.c.hash).where(configurations.c.hash == digest)).scalar() is not None:
            return digest
    upsert = postgresql.insert if store.postgres else sqlite.insert
    with store.write() as tx:
        tx.execute(upsert(configurations).values(**row).on_conflict_do_nothing())
    return digest


def get_configuration(store: Store, digest: str) -> RunConfig:
    """Returns a stored configuration. Raises `LookupError` for an unknown hash."""
    with store.read() as tx:
        body = tx.execute(select(configurations.c.body).where(configurations.c.hash == digest)).scalar()
    if body is None:
        raise LookupError(f"There is no configuration {digest}.")
    return RunConfig.stored(body)
