"""The parameters of the hot statements. They are prefixed because SQLAlchemy reserves bare column names.

`key_…` identifies the piece of work, `new_…` is what a row becomes, `used_…` is added to sums, and `spent_…`, `step_…`
and `end_…` describe an attempt, a step and a run. The fields of a dataclass decide which columns a statement writes:
`values_of` puts them into a statement, `bound` takes their values from an instance.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Table, bindparam

from worker.core.moves import Hot
from worker.core.records import Usage
from worker.core.spending import Spent, Sums
from worker.store.hot.interface import Lease, StepRecord
from worker.store.schema.tables import active, attempts, steps, tool_calls
from worker.store.session import AnyRow


def names_of(record: type) -> tuple[str, ...]:
    """Returns the field names of a dataclass, which are column names."""
    return tuple(field.name for field in fields(record))


def value(table: Table, column: str, name: str) -> BindParameter[Any]:
    """Returns a parameter of a column's type."""
    return bindparam(name, type_=table.c[column].type)


def values_of(table: Table, prefix: str, record: type) -> dict[str, Any]:
    """Returns a parameter for each column that is named like a field of the dataclass."""
    return {name: value(table, name, f"{prefix}_{name}") for name in names_of(record)}


@cache
def _prefixed(prefix: str, record: type) -> tuple[tuple[str, str], ...]:
    return tuple((f"{prefix}_{name}", name) for name in names_of(record))


def bound(prefix: str, record: type, instance: Any) -> dict[str, Any]:
    """Returns the values of these parameters. `instance` may have more fields than `record`."""
    return {parameter: getattr(instance, name) for parameter, name in _prefixed(prefix, record)}


def usage_values(table: Table) -> dict[str, Any]:
    """Returns what an attempt used, as columns of a step or an attempt; its cost may be null (unknown)."""
    return {**values_of(table, "used", Usage), "cost_usd": value(table, "cost_usd", "spent_cost_usd")}


def sums_after(source: Any, added: type) -> dict[str, Any]:
    """Returns a hot row's sums (those of `Used` or `Sums`) plus what an attempt adds."""
    return {name: source.c[name] + value(active, name, f"used_{name}") for name in names_of(added)}


HOT_COLUMNS = tuple(active.c[name] for name in names_of(Hot))

KEY = {
    "token": value(attempts, "token", "key_token"),
    "run_id": value(attempts, "run_id", "key_run"),
    "step": value(attempts, "step", "key_step"),
    "call": value(attempts, "call", "key_call"),
    "attempt": value(attempts, "attempt", "key_attempt"),
    "worker_id": value(attempts, "worker_id", "key_worker"),
}
"""The columns of an attempt that its lease gives."""

THIS_RUN = active.c.run_id == bindparam("key_run")
THIS_STEP = (THIS_RUN, active.c.step == bindparam("key_step"))
THIS_CALL = (
    tool_calls.c.run_id == bindparam("key_run"),
    tool_calls.c.step == bindparam("key_step"),
    tool_calls.c.call == bindparam("key_call"),
)
THIS_ATTEMPT = attempts.c.token == bindparam("key_token")


def key_of(lease: Lease) -> dict[str, Any]:
    """Returns the values of `KEY`."""
    return {
        "key_token": lease.token, "key_run": lease.run_id, "key_step": lease.step, "key_call": lease.call,
        "key_attempt": lease.attempt, "key_worker": lease.worker_id,
    }  # fmt: skip


def spent_of(spent: Spent) -> dict[str, Any]:
    """Returns what an attempt used, for its own row, its step and its run's sums."""
    return bound("used", Sums, spent.sums()) | {
        "spent_cost_usd": spent.cost_usd, "spent_error": spent.error, "spent_outcome": spent.outcome,
        "spent_wasted": spent.wasted, "spent_reserved_usd": spent.reserved_usd,
    }  # fmt: skip


def step_of(record: StepRecord) -> dict[str, Any]:
    """Returns a step's values. `kept` is stored only if it differs from the reply."""
    values = bound("step", StepRecord, record)
    if record.kept == record.reply:
        values["step_kept"] = None
    return values


STEP_VALUES = {**values_of(steps, "step", StepRecord), **usage_values(steps)}


def hot_of(row: AnyRow) -> Hot:
    """Returns what decisions see of a hot row that was selected with `HOT_COLUMNS`."""
    return Hot(**{column.name: getattr(row, column.name) for column in HOT_COLUMNS})
