"""Result records written as a stream of bytes: JSONL, CSV, Parquet."""

from __future__ import annotations

import csv
import importlib
import io
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from worker.core.errors import UserError
from worker.core.given import showable
from worker.core.records import JsonObject
from worker.results.record import error_record

log = logging.getLogger(__name__)

T = TypeVar("T")

Records = Iterable[Sequence[JsonObject]]
"""Result records, page by page."""

_COLUMNS = {
    "custom_id": "text", "run_id": "text", "question": "text", "status": "text", "answer": "text",
    "partial_answer": "text", "error_code": "text", "error_message": "text", "agent": "text", "model": "text",
    "simulated": "flag", "steps": "count", "prompt_tokens": "count", "cached_tokens": "count",
    "completion_tokens": "count", "cost_usd": "number", "wasted_tokens": "count", "wasted_cost_usd": "number",
    "attempts": "count", "started_at": "text", "finished_at": "text",
}  # fmt: skip
_SCORES = {"expected": "text", "exact_match": "flag", "f1": "number"}
_PIECE_BYTES = 128 * 1024
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a table besides the fixed ones. Metadata not in `metadata_keys` goes into one JSON column."""

    metadata_keys: Sequence[str] = ()
    more_metadata: bool = False
    scored: bool = False
    with_steps: bool = False
    excel_safe: bool = False

    def columns(self) -> dict[str, str]:
        """Returns the name and kind of each column, in order."""
        found = dict(_COLUMNS)
        if self.scored:
            found |= _SCORES
        found |= {self.column_of(key): "text" for key in self.metadata_keys}
        if self.more_metadata:
            found["metadata"] = "text"
        if self.with_steps:
            found["trace"] = "text"
        return found

    def column_of(self, key: str) -> str:
        """Returns the column name of a metadata key, prefixed if it would hide a result column."""
        taken = key in _COLUMNS or key in _SCORES or key in ("metadata", "trace")
        return f"metadata.{key}" if taken else key

    def flat(self, record: JsonObject) -> JsonObject:
        """Returns a record as one row."""
        row = {name: record[name] for name in _COLUMNS if name in record}
        error, metadata = record["error"] or {}, dict(record["metadata"] or {})
        row |= {"error_code": error.get("code"), "error_message": error.get("message"), **record["usage"]}
        row |= {f"wasted_{name}": value for name, value in record["wasted"].items()}
        row |= {name: record.get(name) for name in _SCORES} if self.scored else {}
        row |= {self.column_of(key): _text(metadata.pop(key, None)) for key in self.metadata_keys}
        if self.more_metadata:
            row["metadata"] = _text(metadata) if metadata else None
        if self.with_steps:
            row["trace"] = _text(record.get("trace"))
        return row


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else orjson.dumps(value).decode()


def write_jsonl(pages: Records, shape: Shape) -> Iterator[bytes]:
    """Yields one record per line; a record that cannot be written is replaced by one that says so."""
    for page in _unbroken(pages):
        yield from _in_pieces(_each(page, _json_line))


def _in_pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Joins lines into small pieces, since what a slow reader has not taken yet stays in memory."""
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= _PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def _json_line(record: JsonObject) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def write_csv(pages: Records, shape: Shape) -> Iterator[bytes]:
    """Yields a header and one row per record; with `excel_safe`, cells that look like formulas get a leading `'`."""
    columns = shape.columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([_safe(name) if shape.excel_safe else name for name in columns])
    for page in _unbroken(pages):
        for row in _each(page, shape.flat):
            cells = [_cell(row.get(name)) for name in columns]
            writer.writerow([_safe(cell) for cell in cells] if shape.excel_safe else cells)
        yield _taken(text)
    yield _taken(text)


def _unbroken(pages: Records) -> Iterator[Sequence[JsonObject]]:
    """Yields the pages; if reading fails midway, adds a record that says so, since the response has begun."""
    try:
        yield from pages
    except Exception as error:
        log.exception("An export broke off")
        yield [error_record(None, f"The results break off here ({type(error).__name__}); ask for them again.")]


def _each(page: Sequence[JsonObject], write: Callable[[JsonObject], T]) -> Iterator[T]:
    for record in page:
        try:
            yield write(record)
        except (TypeError, ValueError, RecursionError) as error:
            log.error("The record of run %s cannot be written: %s", record.get("run_id"), error)
            yield write(_in_place_of(record, error))


def _in_place_of(record: JsonObject, error: Exception) -> JsonObject:
    """Returns the safe fields of a record, with an error that says why the rest is missing."""
    said = f"This record cannot be written: {str(error)[:200]}."
    kept = {name: record[name] for name in ("custom_id", "run_id", "status") if isinstance(record.get(name), str)}
    return showable(error_record(None, said) | kept)  # type: ignore[no-any-return]


def _taken(text: io.StringIO) -> bytes:
    written = text.getvalue().encode("utf-8", "replace")
    text.seek(0)
    text.truncate()
    return written


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def _safe(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def write_parquet(pages: Records, shape: Shape) -> Iterator[bytes]:
    """Yields one row group per page. Needs pyarrow; call `needs_parquet` before sending anything."""
    arrow, parquet = needs_parquet()
    kinds = {"text": arrow.string(), "flag": arrow.bool_(), "count": arrow.int64(), "number": arrow.float64()}
    schema = arrow.schema([(name, kinds[kind]) for name, kind in shape.columns().items()])
    out = _Forgetful()
    with parquet.ParquetWriter(arrow.PythonFile(out, mode="w"), schema, compression="zstd") as writer:
        for page in pages:
            if page:
                writer.write_table(arrow.Table.from_pylist(list(_each(page, shape.flat)), schema=schema))
                yield out.take()
    yield out.take()


class _Forgetful:
    """A write-only file whose content is dropped once taken, while its position keeps counting."""

    closed = False

    def __init__(self) -> None:
        self._sink = io.BytesIO()
        self._before = 0

    def write(self, data: Any) -> int:
        return self._sink.write(data)

    def tell(self) -> int:
        return self._before + self._sink.tell()

    def flush(self) -> None:
        """Does nothing, since nothing is buffered elsewhere."""

    def close(self) -> None:
        """Does nothing: the last bytes are still to be taken."""

    def take(self) -> bytes:
        data = self._sink.getvalue()
        self._before += len(data)
        self._sink.seek(0)
        self._sink.truncate()
        return data


def needs_parquet() -> tuple[Any, Any]:
    """Returns pyarrow and its Parquet module. Raises `UserError` if they are not installed."""
    try:
        arrow = importlib.import_module("pyarrow")
        return arrow, importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise UserError("Parquet needs pyarrow, which is not installed.", "pip install 'stepmill[parquet]'") from error


WRITERS: dict[str, tuple[Callable[[Records, Shape], Iterator[bytes]], str]] = {
    "jsonl": (write_jsonl, "application/x-ndjson"),
    "csv": (write_csv, "text/csv; charset=utf-8"),
    "parquet": (write_parquet, "application/vnd.apache.parquet"),
}
"""Writer and media type of each format."""
