"""Turns a tool function's return value into an observation that a model can read well."""

from __future__ import annotations

import itertools
import json
import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.kit.context import ArtifactRef, Artifacts
from tools.kit.plain import frame_lines, is_frame, is_series, plain

NOTHING = "Done. The tool returned nothing."
EMPTY = "Done. The tool returned an empty text."
NO_ROWS = "No results (an empty list)."
_ITEMS = 50_000


@dataclass(frozen=True, slots=True)
class File:
    """A file that a tool returns; it becomes an artifact of the run."""

    name: str
    data: bytes | str = field(repr=False)
    media_type: str = ""

    def type_or_guess(self) -> str:
        """Returns the given media type, else the one its name suggests."""
        return self.media_type or mimetypes.guess_type(self.name)[0] or "application/octet-stream"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A finished call: the text for the model and the files kept. `left_out_chars` > 0 if the text was cut."""

    observation: str
    artifacts: tuple[ArtifactRef, ...] = ()
    left_out_chars: int = 0


def parts_of(value: object) -> Sequence[str | File] | ToolResult:
    """Returns text as it is, tables as Markdown, other data as compact JSON; files stay files."""
    if isinstance(value, ToolResult):
        return value
    return [part if isinstance(part, File) else _text(part) for part in _parts(value)]


def keep(parts: Sequence[str | File] | ToolResult, artifacts: Artifacts) -> ToolResult:
    """Returns the parts as one text; stores files as artifacts and names them in it."""
    if isinstance(parts, ToolResult):
        return parts
    texts: list[str] = []
    kept: list[ArtifactRef] = []
    for part in parts:
        if isinstance(part, File):
            data = part.data.encode() if isinstance(part.data, str) else bytes(part.data)
            kept.append(artifacts.save(safe_name(part.name), data, part.type_or_guess()))
        texts.append(describe(kept[-1]) if isinstance(part, File) else part)
    return ToolResult("\n".join(texts), tuple(kept))


def safe_name(name: str) -> str:
    """Returns a plain file name that is safe in paths, addresses and headers."""
    return re.sub(r"[^\w.-]+", "_", name.replace("/", "_")).strip("._")[-100:] or "file"


def describe(ref: ArtifactRef) -> str:
    """Returns one line that tells the model about a stored file and how to link it."""
    return f"Saved file {ref.name} ({ref.media_type}, {ref.size_bytes:,} bytes): {ref.uri}"


def _parts(value: object) -> Sequence[object]:
    """Splits a value that holds files into its parts; any other value is one part."""
    if isinstance(value, bytes | bytearray | memoryview):
        return [File("result.bin", bytes(value))]
    if isinstance(value, Iterator):
        value = _first(value)
    if isinstance(value, list | tuple) and any(isinstance(part, File | bytes) for part in value):
        return [File("result.bin", part) if isinstance(part, bytes) else part for part in value]
    return [value]


def _first(values: Iterator[object]) -> list[object]:
    """Returns the first items of an iterator, which may be endless, and a note if there are more."""
    found = list(itertools.islice(values, _ITEMS + 1))
    return found if len(found) <= _ITEMS else [*found[:_ITEMS], f"… and more than these {_ITEMS:,}"]


def _text(value: object) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return str(value) or EMPTY
    if is_frame(value) or is_series(value):
        return _frame_text(value)
    found = plain(value)
    if found == []:
        return NO_ROWS
    if isinstance(found, str):
        return found or EMPTY
    rest = found[-1:] if isinstance(found, list) and isinstance(found[-1], str) and found[-1].startswith("…") else []
    rows = found[: len(found) - len(rest)] if isinstance(found, list) else found
    if is_table(rows):
        return "\n".join([markdown_table(rows), *rest])
    return json.dumps(found, ensure_ascii=False, separators=(", ", ": "))


def _frame_text(value: object) -> str:
    columns, rows, note = frame_lines(value)
    if not rows:
        return f"No rows. Columns: {', '.join(columns)}."
    return "\n".join([*markdown_lines(columns, rows), *([note] if note else [])])


def is_table(value: Any) -> bool:
    """Whether the value is a non-empty list of objects whose values are all plain."""
    return isinstance(value, list) and bool(value) and all(_is_row(row) for row in value)


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and bool(row) and not any(isinstance(cell, dict | list) for cell in row.values())


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns a compact Markdown table; its columns are those of all rows, in order of first appearance."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return "\n".join(markdown_lines(columns, [[row.get(column) for column in columns] for row in rows]))


def markdown_lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Returns the lines of a Markdown table; columns may share a name."""
    written = ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in (columns, *rows)]
    return [written[0], "|" + " --- |" * len(columns), *written[1:]]


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.replace("|", "\\|").split())


def shorten(text: str, limit_chars: int, hint: str) -> tuple[str, int]:
    """Cuts the middle out of a text over the limit; returns it with a note, and the number of characters left out.

    The beginning gets three quarters of the space, since the end often holds the error or the total.
    """
    if len(text) <= limit_chars:
        return text, 0
    head = limit_chars * 3 // 4
    tail = limit_chars - head
    left_out = len(text) - head - tail
    note = f"\n[… {left_out:,} of {len(text):,} characters left out here. {hint}]\n"
    return text[:head] + note + text[len(text) - tail :], left_out
