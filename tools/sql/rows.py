"""Rows of a result as plain JSON, with large cells cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CELL_CHARS = 500


def plain_rows(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Keeps numbers, booleans and nulls; describes bytes by size; turns the rest into text."""
    return [[_cell(value) for value in row] for row in rows]


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return f"({len(bytes(value)):,} bytes)"
    text = str(value)
    return text if len(text) <= CELL_CHARS else f"{text[:CELL_CHARS]}… ({len(text):,} characters)"
