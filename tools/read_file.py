"""Reads a text file in the directories that the operator opened to tools."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Annotated, BinaryIO

from pydantic import Field

from tools.base import ToolContext, ToolError, tool
from tools.config import ToolSettings
from tools.kit.beneath import opened

MAX_CHARS = 7_000
_LINE_BYTES = 64 * 1024


@tool(group="data", timeout_s=20.0, idempotent=True)
def read_file(path: str, context: ToolContext, start_line: Annotated[int, Field(ge=1)] = 1) -> str:
    """Reads a text file. Long files come in parts: read on with `start_line`.

    Args:
        path: The file, as list_files shows it.
        start_line: The line to begin with, counted from 1.
    """
    directories = ToolSettings.of(context.settings).files_dirs
    with opened(directories, path, directory=False) as descriptor, os.fdopen(os.dup(descriptor), "rb") as stream:
        size = os.fstat(descriptor).st_size
        if size == 0:
            return "(The file is empty.)"
        if b"\0" in stream.read(8192):
            raise ToolError(f'"{path}" is not text ({size:,} bytes) and cannot be shown.')
        stream.seek(0)
        return _part(stream, path, start_line, context)


def _part(stream: BinaryIO, path: str, start_line: int, context: ToolContext) -> str:
    shown: list[str] = []
    room = MAX_CHARS
    number = 0
    for number, line in enumerate(_lines(stream, context), start=1):
        if number < start_line:
            continue
        if len(line) > room and shown:
            return f"{''.join(shown)}[… the file goes on; read on with start_line={number}]"
        if len(line) > room:  # the line may be endless: the rest is read only if it is asked for
            return f"{line[:room]}[… line {number} is cut; for what follows it read on with start_line={number + 1}]"
        shown.append(line)
        room -= len(line)
    if not shown:
        raise ToolError(f'"{path}" has {number:,} lines; there is no line {start_line:,}.')
    return "".join(shown)


def _lines(stream: BinaryIO, context: ToolContext) -> Iterator[str]:
    """Yields lines as text; skips the rest of one that exceeds the limit, until the deadline."""
    encoding = "utf-8-sig"
    for number in itertools.count():
        raw = stream.readline(_LINE_BYTES)
        if not raw:
            return
        if number % 1000 == 0:
            _check(context)
        yield raw.decode(encoding, "replace").replace("\r\n", "\n")
        while not raw.endswith(b"\n") and len(raw) == _LINE_BYTES:
            _check(context)
            raw = stream.readline(_LINE_BYTES)
        encoding = "utf-8"


def _check(context: ToolContext) -> None:
    why = context.stopped()
    if why:
        raise ToolError(f"Reading was stopped: {why}.")
