"""Pagination: a cursor says after which item the next page begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import Query

from api.problems import Problem
from worker.core.given import shown
from worker.core.records import JsonObject
from worker.store.session import AnyRow, is_id

MAX_LIMIT = 1_000

Cursor = Annotated[str | None, Query(description="`next` of the page before", max_length=200)]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]


def is_count(text: str) -> bool:
    """Returns whether a text is a whole number in ASCII digits that fits every database."""
    return text.isascii() and text.isdigit() and len(text) <= 15


def id_cursor(cursor: str | None, prefix: str) -> str | None:
    """Returns a cursor that is an id. Raises `Problem` if it is not valid for this list."""
    if cursor is not None and not is_id(cursor, prefix):
        raise no_cursor(cursor)
    return cursor


def no_cursor(cursor: str) -> Problem:
    """Returns the refusal of an invalid cursor."""
    return Problem(f"The cursor {shown(cursor)} is not valid for this list.", "Use the `next` of a page of it.")


def page(
    rows: Sequence[AnyRow], limit: int, view: Callable[[AnyRow], JsonObject], key: Callable[[AnyRow], str]
) -> JsonObject:
    """Returns a page of `limit` items from up to `limit + 1` rows: the extra row means that there are more."""
    shown = rows[:limit]
    return {"items": [view(row) for row in shown], "next": key(shown[-1]) if len(rows) > limit else None}
