"""The hot row's columns about parking, as conditions and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_

from worker.core.states import Parked
from worker.store.schema.tables import active

READY: Mapping[str, Any] = {"parked": Parked.READY.value, "parked_target": None}
"""The columns of a parked run that is ready to take a slot again."""


def parked_for(kind: Parked, *targets: str) -> ColumnElement[bool]:
    """Selects runs parked for this kind; without targets, for any target of it."""
    of_kind = active.c.parked == kind.value
    return and_(of_kind, active.c.parked_target.in_(targets)) if targets else of_kind


def parked_for_model(endpoint_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Selects runs parked for the endpoint whose id is in another column."""
    return and_(parked_for(Parked.MODEL), active.c.parked_target == endpoint_id)
