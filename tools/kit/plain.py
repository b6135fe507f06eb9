"""Turns anything a tool returned into plain JSON values of limited size. numpy and pandas are optional."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from tools.kit.errors import ToolError
from tools.kit.failures import described, shown

_VALUES = 100_000
_FIELDS = 50
"""An object is cut only after this many fields: rows of a table stay whole."""

_DEPTH = 30
_LARGEST_BITS = 14_000
_BYTES = 200
ARRAY_VALUES = 1000
ROWS, COLUMNS = 500, 60


def plain(value: object) -> Any:
    """Returns numbers, texts, lists and objects with text keys. Raises ToolError for a value without any text form."""
    return _Plain().of(value, 0, ())


def library(value: object) -> str:
    """Returns the package that the value's type comes from."""
    return type(value).__module__.partition(".")[0]


def is_frame(value: object) -> bool:
    return library(value) == "pandas" and type(value).__name__ == "DataFrame"


def is_series(value: object) -> bool:
    return library(value) == "pandas" and type(value).__name__ in {"Series", "Index", "RangeIndex", "DatetimeIndex"}


class _Plain:
    def __init__(self) -> None:
        self._room = _VALUES

    def of(self, value: object, depth: int, above: tuple[int, ...]) -> Any:
        self._room -= 1
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, enum.Enum):
            return self.of(value.value, depth, above)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, int | float):
            return _number(value)
        text = _text(value)
        if text is not None:
            return text
        if depth > _DEPTH:
            return "(deeper than can be shown)"
        if id(value) in above:
            return "(itself)"
        return self._made_of_parts(value, depth + 1, (*above, id(value)))

    def _made_of_parts(self, value: Any, depth: int, above: tuple[int, ...]) -> Any:
        if library(value) in {"numpy", "pandas"}:
            return self._scientific(value, depth, above)
        if isinstance(value, BaseModel):
            return self.of(value.model_dump(by_alias=True), depth, above)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return self._mapping(fields, depth, above)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self._mapping(dict(value._asdict()), depth, above)
        if isinstance(value, Mapping):
            return self._mapping(value, depth, above)
        if isinstance(value, set | frozenset):
            return self._list(_in_order(value), depth, above)
        if isinstance(value, Iterable) and not isinstance(value, type):
            return self._list(value, depth, above)
        return self._object(value, depth, above)

    def _mapping(self, value: Mapping[Any, Any], depth: int, above: tuple[int, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items():
            if self._room <= 0 and len(found) >= _FIELDS:
                found["…"] = f"{len(value) - len(found):,} more"
                break
            name = key if isinstance(key, str) else str(self.of(key, depth, above))
            found[name] = self.of(item, depth, above)
        return found

    def _list(self, value: Iterable[Any], depth: int, above: tuple[int, ...]) -> list[Any]:
        found: list[Any] = []
        for item in value:
            if self._room <= 0:
                left = f"{len(value) - len(found):,} more" if isinstance(value, Collection) else "and more"
                found.append(f"… {left}")
                break
            found.append(self.of(item, depth, above))
        return found

    def _scientific(self, value: Any, depth: int, above: tuple[int, ...]) -> Any:
        if is_frame(value):
            cut = value.iloc[:ROWS, :COLUMNS]
            rows = [
                dict(zip(map(str, cut.columns), row, strict=True)) for row in cut.itertuples(index=False, name=None)
            ]
            return self._list(rows, depth, above)
        if is_series(value):
            return self._list(value.iloc[:ROWS] if hasattr(value, "iloc") else value[:ROWS], depth, above)
        if hasattr(value, "ndim") and hasattr(value, "tolist"):
            if value.ndim and value.size > ARRAY_VALUES:
                return f"array of shape {value.shape}, {value.dtype}: {shown(value, str)}"
            converted = value.tolist()
            return shown(value, str) if type(converted) is type(value) else self.of(converted, depth, above)
        return shown(value, str)

    def _object(self, value: object, depth: int, above: tuple[int, ...]) -> Any:
        """Shows an object by its own text; without one, by its attributes."""
        if type(value).__repr__ is not object.__repr__:
            return shown(value)
        attributes = getattr(value, "__dict__", None)
        if attributes:
            return self._mapping(
                {f"{type(value).__name__}.{name}": one for name, one in attributes.items()}, depth, above
            )
        kind = type(value).__name__
        raise ToolError(f"The tool returned a {kind}, which has no text. Nothing is known of its result.")


def _number(value: int | float) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return int(value) if value.bit_length() < _LARGEST_BITS else f"a number of about {_digits(value):,} digits"


def _digits(value: int) -> int:
    return int(value.bit_length() * math.log10(2)) + 1


def _text(value: object) -> str | None:
    """Returns the text of a value that is best read as text; None for one that consists of parts."""
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value))
    if isinstance(value, BaseException):
        return described(value)
    if isinstance(value, complex) or library(value) in {
        "decimal",
        "fractions",
        "uuid",
        "pathlib",
        "ipaddress",
        "zoneinfo",
    }:
        return shown(value, str)
    if isinstance(value, range | type):
        return shown(value)
    return None


def _bytes(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and text:
        return text
    rest = f"… ({len(value):,} bytes)" if len(value) > _BYTES else ""
    return f"0x{value[:_BYTES].hex()}{rest}"


def _in_order(values: Iterable[Any]) -> list[Any]:
    """Sorts a set, so that equal sets read the same."""
    found = list(values)
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=shown)


def frame_lines(value: Any) -> tuple[list[str], list[list[Any]], str]:
    """Returns columns, rows and a note on omissions; keeps an index that is more than row numbers."""
    frame = value.to_frame() if is_series(value) else value
    cut = frame.iloc[:ROWS, :COLUMNS]
    plain_index = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
    columns = [*([] if plain_index else _index_names(frame.index)), *map(_name, cut.columns)]
    rows = []
    for key, row in zip(cut.index, cut.itertuples(index=False, name=None), strict=True):
        before = [] if plain_index else list(key) if isinstance(key, tuple) else [key]
        rows.append([_cell(one) for one in (*before, *row)])
    height, width = frame.shape
    note = f"({height:,} rows and {width:,} columns; the first {len(rows):,} and {cut.shape[1]:,} are shown)"
    return columns, rows, note if (height, width) != cut.shape else ""


def _index_names(index: Any) -> list[str]:
    return ["" if name is None else str(name) for name in index.names]


def _name(column: Any) -> str:
    return " ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _cell(value: Any) -> Any:
    """Returns None for a missing value; compound cells as JSON."""
    if library(value) == "pandas" and type(value).__name__ in {"NAType", "NaTType"}:
        return None
    return None if isinstance(value, float) and math.isnan(value) else plain(value)
