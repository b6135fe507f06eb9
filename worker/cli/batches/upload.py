"""A file of questions for upload: its format, its hash, its bytes as a stream."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import click

from worker.core.errors import UserError
from worker.core.records import JsonObject

CHUNK_BYTES = 256 * 1024
CONTENT_TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv",
    "tsv": "text/csv",
    "plain": "text/plain",
    "auto": "application/octet-stream",
}
SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv", ".txt": "plain"}
format_option = click.option(
    "--format", "form", type=click.Choice(sorted(CONTENT_TYPES)), help="By default the file's suffix decides."
)


def format_of(name: str, chosen: str | None) -> str:
    """Returns the chosen format, or that of the suffix, or `auto`, which lets the first line decide."""
    return chosen or SUFFIXES.get(Path(name).suffix.lower(), "auto")


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Yields the file at its beginning. Copies standard input (`-`) to disk, since it must be read twice."""
    if name != "-":
        try:
            with open(name, "rb") as file:
                yield file
        except IsADirectoryError as error:
            raise UserError(f"{name} is a directory, not a file of questions.") from error
        except FileNotFoundError as error:
            raise UserError(f"There is no file {name}.", "`-` reads from standard input.") from error
        return
    with tempfile.TemporaryFile() as spooled:
        shutil.copyfileobj(sys.stdin.buffer, spooled, CHUNK_BYTES)
        spooled.seek(0)
        yield cast(BinaryIO, spooled)


def submission_key(file: BinaryIO, options: JsonObject) -> str:
    """Returns a key that depends only on bytes and options. Leaves the file at its beginning."""
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
    for chunk in chunks(file):
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
