"""Checks that results are complete: if the API cannot continue an export, its last record says so."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator

from worker.cli.errors import EXIT_UNREACHABLE
from worker.core.errors import UserError

MOST_BYTES = 8_192
"""Bytes of a record that are checked; a record that says that the results break off is far shorter."""


def whole(chunks: Iterable[bytes], form: str) -> Iterator[bytes]:
    """Yields the pieces unchanged. Raises `UserError` after the last one if its record says that the results break off.

    Only JSONL and CSV have such a record. A Parquet stream is cut off instead, which shows as a connection error.
    """
    if form == "parquet":
        yield from chunks
        return
    records = _Records(quoted=form == "csv")
    for chunk in chunks:
        records.add(chunk)
        yield chunk
    said = _said_in_row(records) if form == "csv" else _said_in_line(records)
    if said is not None:
        raise UserError(said, "What came is not all of them; run the command again.", EXIT_UNREACHABLE)


class _Records:
    """Keeps the first and last record of a stream, cut at `MOST_BYTES`. In CSV a quoted cell may contain line ends."""

    def __init__(self, quoted: bool) -> None:
        self._quoted = quoted
        self._in_cell = False
        self._begun = b""
        self.first = b""
        self.last = b""

    def add(self, chunk: bytes) -> None:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            self._take(line + b"\n")
            if not self._in_cell:
                self.last, self._begun = self._begun, b""
                self.first = self.first or self.last
        self._take(rest)

    def _take(self, part: bytes) -> None:
        self._begun += part[: MOST_BYTES - len(self._begun)]
        self._in_cell ^= self._quoted and part.count(b'"') % 2 == 1


def _said_in_line(records: _Records) -> str | None:
    if not records.last.endswith(b"\n"):
        return None  # longer than any record that says so
    record = json.loads(records.last)
    return str(record["error"]["message"]) if record.get("run_id") is None else None


def _said_in_row(records: _Records) -> str | None:
    head, row = (next(csv.reader([record.decode("utf-8", "replace")])) for record in (records.first, records.last))
    cells = dict(zip(head, row, strict=False))
    return cells["error_message"] if not cells["run_id"] else None
