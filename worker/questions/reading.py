"""Reads questions from a stream of bytes in each format, holding only the current line in memory."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import orjson

from worker.core.errors import UserError
from worker.questions.lines import TooLong, not_utf8, split_lines
from worker.questions.openai_lines import as_fields, is_request
from worker.questions.record import FIELDS, Question, Refused, Rules, from_fields, kind_of, resembles
from worker.questions.template import BadLine

_NOTED = 200
"""The most column names that are checked; in JSONL every line may have its own."""

Read = Iterator[Question | Refused]


class Reader:
    """Reads one input. While reading, `notes` collects what the submitter should know."""

    def __init__(self, rules: Rules, delimiter: str | None = None) -> None:
        self.rules = rules
        self.delimiter = delimiter
        self._ignored: set[str] = set()
        self._columns: dict[str, str | None] = {}

    def read(self, chunks: Iterable[bytes], form: str) -> Read:
        """Yields questions and refused lines in order. `form` is one of `FORMATS`. Raises `UserError` for bad input."""
        return FORMATS[form](self, split_lines(chunks, self.rules.max_line_bytes))

    @property
    def notes(self) -> list[str]:
        """Notes on ignored settings of OpenAI request lines, and on metadata columns that look like options."""
        found = [
            f"The column {column!r} is kept as metadata; the option that it resembles is {option!r}."
            for column, option in self._columns.items() if option is not None
        ]  # fmt: skip
        if self._ignored:
            ignored = ", ".join(sorted(self._ignored))
            found.append(f"Not used from the request lines, since the agent decides it: {ignored}.")
        return found

    def _note_columns(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._columns and name not in FIELDS and len(self._columns) < _NOTED:
                self._columns[name] = resembles(name)

    def object(self, line: int, value: Any) -> Question | Refused:
        """Returns a question from a parsed JSON value: an object, or the question's text."""
        try:
            if isinstance(value, str):
                value = {"question": value}
            if not isinstance(value, dict):
                raise BadLine(_not_object(value))
            fields = as_fields(value, self._ignored) if is_request(value) else value
            self._note_columns(fields)
            return from_fields(line, fields, self.rules)
        except BadLine as error:
            return Refused(line, error.reason)

    def jsonl(self, lines: Iterator[bytes]) -> Read:
        """Reads one JSON object per line."""
        for number, line in enumerate(lines, 1):
            if isinstance(line, TooLong):
                yield self._too_long(number)
            elif stripped := line.strip():
                yield self._json_line(number, stripped)

    def _json_line(self, number: int, line: bytes) -> Question | Refused:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            return Refused(number, _bad_json(number, line, error))
        if isinstance(value, (str, list)):
            return Refused(number, _ARRAY if number == 1 and isinstance(value, list) else _not_object(value))
        return self.object(number, value)

    def plain(self, lines: Iterator[bytes]) -> Read:
        """Reads one question per line and skips empty lines."""
        for number, line in enumerate(lines, 1):
            if isinstance(line, TooLong):
                yield self._too_long(number)
                continue
            try:
                text = line.decode().strip()
                if text:
                    yield from_fields(number, {"question": text}, self.rules)
            except UnicodeDecodeError as error:
                yield Refused(number, not_utf8(error))
            except BadLine as error:
                yield Refused(number, error.reason)

    def guessed(self, lines: Iterator[bytes]) -> Read:
        """Reads JSONL if the first non-empty line begins like an object, otherwise plain lines."""
        seen: list[bytes] = []
        for line in lines:
            seen.append(line)
            if line.strip():
                break
        is_json = bool(seen) and seen[-1].lstrip().startswith(b"{")
        return (self.jsonl if is_json else self.plain)(chain(seen, lines))

    def csv(self, lines: Iterator[bytes]) -> Read:
        """Reads rows under a header. Quoted cells may contain line breaks; a row's number is that of its first line."""
        numbered = _Lines(lines)
        first = next(numbered, "")
        rows = csv.reader(chain([first], numbered), delimiter=self._delimiter(first), strict=True)
        header = self._header(rows)
        while True:
            begins = rows.line_num + 1
            try:
                row = next(rows, None)
            except csv.Error as error:
                yield Refused(begins, f"is not valid CSV: {error}")
                continue
            if row is None:
                return
            if row:
                yield self._row(begins, header, row)

    def _delimiter(self, first: str) -> str:
        if self.delimiter:
            return self.delimiter
        return next((mark for mark in (",", "\t", ";") if mark in first), ",")

    def _header(self, rows: Iterator[list[str]]) -> list[str]:
        try:
            header = [name.strip() for name in next(rows, [])]
        except csv.Error as error:
            raise UserError(f"The first line is not a valid CSV header: {error}.") from error
        twice = [name for name in dict.fromkeys(header) if header.count(name) > 1]
        if twice:
            raise UserError(f"The CSV header names the column {twice[0]!r} twice.", "Give each column its own name.")
        self._note_columns(header)
        template = self.rules.template
        missing = template.missing(header) if template else [name for name in ["question"] if name not in header]
        if header and missing:
            hint = (
                "Name one of them in --template."
                if template
                else 'Name one "question", or give --template "… {column}".'
            )
            if template:
                hint = "Name one of them in --template."
            raise UserError(f"The CSV has no column {missing[0]!r}; it has {', '.join(header)}.", hint)
        return header

    def _row(self, number: int, header: list[str], row: list[str]) -> Question | Refused:
        if len(row) != len(header):
            return Refused(number, f"has {len(row)} cells where the header has {len(header)}")
        fields: dict[str, Any] = dict(zip(header, row, strict=True))
        try:
            for name, cell in fields.items():
                _check_cell(name, cell)
            if fields.get("metadata"):
                fields["metadata"] = _cell_object(fields["metadata"])
            return from_fields(number, fields, self.rules)
        except BadLine as error:
            return Refused(number, error.reason)

    def _too_long(self, number: int) -> Refused:
        return Refused(number, f"is longer than {self.rules.max_line_bytes:,} bytes")


FORMATS: dict[str, Callable[[Reader, Iterator[bytes]], Read]] = {
    "jsonl": Reader.jsonl,
    "csv": Reader.csv,
    "plain": Reader.plain,
    "auto": Reader.guessed,
}
"""The formats by name."""


class _Lines:
    """Decodes lines for the CSV reader. Bytes that are not UTF-8 become surrogates, so that their row is refused."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        return "\udcff\n" if isinstance(line, TooLong) else line.decode(errors="surrogateescape")


def _check_cell(name: str, cell: str) -> None:
    if "\0" in cell:
        raise BadLine(f"the column {name!r} contains a NUL character")
    if not cell.isascii() and any("\udc80" <= letter <= "\udcff" for letter in cell):
        raise BadLine(f"the column {name!r} is not UTF-8, or too long; save the file as UTF-8")


def _cell_object(cell: str) -> Any:
    try:
        return orjson.loads(cell)
    except orjson.JSONDecodeError as error:
        raise BadLine(f'the column "metadata" is not a JSON object: {error.msg}') from error


_ARRAY = "is a JSON array; write one object on each line instead"


def _not_object(value: Any) -> str:
    return f"must be a JSON object, not {kind_of(value)}"


def _bad_json(number: int, line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        line.decode()
    except UnicodeDecodeError as wrong:
        return not_utf8(wrong)
    if number == 1 and line.startswith(b"["):
        return _ARRAY
    return f"is not valid JSON: {error.msg} (column {error.colno})"
