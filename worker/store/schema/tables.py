"""The tables. Times are seconds since 1970 by the database's clock; money is in US dollars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_type_hints

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

from worker.core.moves import State, Tries
from worker.core.records import Usage
from worker.core.spending import Sums

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id(name: str = "id") -> Column[str]:
    return Column(name, Text, primary_key=True)


def _words(name: str, default: str | None = None) -> Column[str]:
    if default is None:
        return Column(name, Text, nullable=True)
    return Column(name, Text, nullable=False, server_default=default)


def _count(name: str, default: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text(str(default)))


def _number(name: str, default: float | None = None) -> Column[float]:
    if default is None:
        return Column(name, Double, nullable=True)
    return Column(name, Double, nullable=False, server_default=text(str(default)))


def _flag(name: str, default: bool = False) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=true() if default else false())


def _json(name: str) -> Column[Any]:
    return Column(name, JSON(none_as_null=True), nullable=True)


_COLUMNS: dict[object, Callable[[str, Any], Column[Any]]] = {
    str: lambda name, default: _words(name, str(default)),
    str | None: lambda name, _: _words(name),
    int: _count,
    float: _number,
    float | None: lambda name, _: _number(name),
    bool: _flag,
}


def columns_of(record: type) -> tuple[Column[Any], ...]:
    """Returns a column for each field of a dataclass, with its type and default; optional fields are nullable."""
    types, defaults = get_type_hints(record), record()
    return tuple(_COLUMNS[types[field.name]](field.name, getattr(defaults, field.name)) for field in fields(record))


SUMS = tuple(field.name for field in fields(Sums))

_HOT: dict[str, Any] = {"postgresql_with": {"fillfactor": 70}}

owners = Table(
    "owners", metadata, _id(), _words("name", ""), _words("key_hash"), _number("weight", 1.0),
    _number("vtime", 0.0), _number("clock", 0.0), _flag("eligible"), _number("created_at", 0.0),
)  # fmt: skip

# One row: the clock of the owners' level, how many shared slots both classes have competed for, and when an admission
# last succeeded.
admission = Table(
    "admission", metadata, Column("id", Integer, primary_key=True), _number("clock", 0.0), _count("turn"),
    _number("succeeded_at"),
)  # fmt: skip

configurations = Table(
    "configurations", metadata, _id("hash"), Column("body", JSON, nullable=False), _number("time_limit_s"),
    _number("call_time_limit_s", 300.0),
)  # fmt: skip

batches = Table(
    "batches", metadata, _id(), Column("owner_id", Text, ForeignKey("owners.id"), nullable=False),
    _words("name", ""), _words("klass", "batch"), _number("weight", 1.0), _number("vtime", 0.0),
    _words("state", "open"), _words("paused_reason"), _words("paused_by"), _words("submission_key"),
    _flag("sealed"), _count("total"), _count("succeeded"), _count("failed"), _count("cancelled"),
    _count("steps"), *columns_of(Sums), _count("watermark"), _number("steps_per_run", 0.0), _flag("eligible"),
    Column("max_failures", Integer), _number("max_failures_percent"), _json("options"),
    _number("budget_usd"), _number("first_call_usd", 0.0), _number("carried_usd", 0.0),
    _number("created_at", 0.0), _number("finished_at"), _number("cancel_asked_at"),
    _words("fingerprint"), _number("filled_at"),
    UniqueConstraint("owner_id", "submission_key"),
    Index(None, "created_at"),
    Index("ix_batches_open", "id", postgresql_where=text("state = 'open'"), sqlite_where=text("state = 'open'")),
)  # fmt: skip

runs = Table(
    "runs", metadata, _id(), Column("batch_id", Text, ForeignKey("batches.id"), nullable=False),
    Column("owner_id", Text, nullable=False), Column("seq", BigInteger, nullable=False),
    _words("custom_id"), _words("question", ""), Column("config_hash", Text, nullable=False),
    _json("metadata"), _words("expected"), _words("state", "queued"), _flag("paused"), _words("error_code"),
    _words("error_message"), _words("answer"), _words("partial_answer"), _count("steps"), *columns_of(Sums),
    _count("event"), _number("created_at", 0.0), _number("started_at"), _number("finished_at"),
    _number("stop_asked_at"), _number("stopped_at"),
    UniqueConstraint("batch_id", "seq"),
    UniqueConstraint("batch_id", "custom_id"),
)  # fmt: skip

active = Table(
    "active", metadata, _id("run_id"), _words("batch_id", ""), _words("owner_id", ""), _words("klass", "batch"),
    _words("config_hash", ""), *columns_of(State), *columns_of(Sums), _number("allotment_usd"), _count("event"),
    _number("due_at", 0.0), _words("wait_reason"), _words("queue", "think"), _number("sent_at"),
    _number("claimed_sent_at"), _words("token"), _words("worker_id"), _number("lease_until"),
    _number("call_limit_s", 300.0), _flag("paused"), _words("parked"), _words("parked_target"), _number("parked_at"),
    _number("deadline_at"), _number("admitted_at", 0.0), _number("charged", 1.0),
    **_HOT,
)  # fmt: skip

steps = Table(
    "steps", metadata, _id("run_id"), Column("step", Integer, primary_key=True), _words("kind", ""),
    _words("reply"), _words("kept"), _json("message"), _words("thought"), _words("notice"), _words("answer"),
    _words("finish_reason"), _words("model"), *columns_of(Usage), _number("cost_usd"),
    _number("latency_s"), _words("token"), _count("event"), _number("created_at", 0.0),
    _json("extras"), _words("endpoint_id"),
)  # fmt: skip

tool_calls = Table(
    "tool_calls", metadata, _id("run_id"), Column("step", Integer, primary_key=True),
    Column("call", Integer, primary_key=True), _words("tool", ""), _json("args"), _words("call_id"),
    _words("state", "pending"), _words("outcome"), _words("observation"), _words("queue", ""), _words("held"),
    *columns_of(Tries), _number("due_at", 0.0),
    _words("wait_reason"), _number("sent_at"), _number("claimed_sent_at"), _words("token"), _words("worker_id"),
    _number("lease_until"), _number("started_at"), _number("finished_at"), _count("event"), **_HOT,
)  # fmt: skip

attempts = Table(
    "attempts", metadata, _id("token"), Column("run_id", Text, nullable=False), _count("step"), _count("call"),
    _count("attempt"), _words("worker_id"), _words("queue"), _number("claimed_at", 0.0), _number("deadline_at"),
    _number("started_at"), _number("ended_at"), _words("outcome"), _words("error"),
    *columns_of(Usage), _number("cost_usd"), _number("reserved_usd"),
    _flag("wasted"), _count("event"),
    Index(None, "run_id"),
    # For the daily usage report. Rows are inserted in time order, so a BRIN index is small and cheap.
    Index(None, "claimed_at", postgresql_using="brin"),
    **_HOT,
)  # fmt: skip

endings = Table(
    "endings", metadata, _id("run_id"), _words("batch_id", ""), _words("owner_id", ""), _words("state", ""),
    _words("error_code"), _count("steps"), _number("charged", 1.0), *columns_of(Sums), _number("ended_at", 0.0),
    _number("aside_until"), _words("aside_reason"),
)  # fmt: skip

workers = Table(
    "workers", metadata, _id(), _words("name", ""), _words("host", ""), _count("pid"), _json("queues"),
    _words("pool", ""), _count("slots", 1), _json("tools"), _count("beat"), _words("state", "up"),
    _number("started_at", 0.0), _number("beat_at", 0.0), _number("ended_at"), _count("stuck"),
    _count("violations"), **_HOT,
)  # fmt: skip

endpoints = Table(
    "endpoints", metadata, _id(), _words("base_url", ""), _words("model", ""), _words("paused_reason"),
    _words("paused_by"), _number("paused_until"), _number("probe_at"), _words("probe_run"), _count("probes"),
    _number("slowed_until"), _number("changed_at", 0.0), _words("paused_kind"), _words("api_key_env"),
    _number("answered_at"),
)  # fmt: skip

# How requests must differ from the usual ones, learned from the endpoint's refusals; forgotten after a day.
learned = Table(
    "learned", metadata, _id("endpoint_id"), _id("feature"), _json("value"), _words("said", ""),
    _number("learned_at", 0.0),
)  # fmt: skip

artifacts = Table(
    "artifacts", metadata, _id(), Column("run_id", Text, nullable=False), _count("step"), _count("call"),
    _words("name", ""), _words("media_type", ""), _count("size"), Column("sha256", Text),
    _words("path"), _number("created_at", 0.0), Index(None, "run_id"),
)  # fmt: skip

notes = Table(
    "notes", metadata, Column("scope", Text, primary_key=True), Column("name", Text, primary_key=True),
    _words("body", ""), _number("changed_at", 0.0),
)  # fmt: skip
