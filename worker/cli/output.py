"""Output of commands: JSON for programs, tables for people, plain lines if there is no terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from worker.settings import settings
from worker.terminal import echo, safe, safe_json

PRACTICE_NOTE = "practice mode: the practice model answers, not a real one; STEPMILL_MODEL names a model of yours"
LATE_MODEL_NOTE = (
    "practice mode: the practice model answers, since this began before STEPMILL_MODEL was set; "
    "after `stepmill down` a new stack takes it"
)

WIDE, DRAWN_WIDTH = 10_000, 150

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_json(value: Any) -> None:
    """Prints one JSON document on standard output."""
    echo(safe_json(json.dumps(value, ensure_ascii=False, indent=2)))


def watched() -> bool:
    """Returns whether standard output is a terminal that can be redrawn."""
    return sys.stdout.isatty()


def console(*, err: bool = False, piped_width: int = WIDE) -> Console:
    """Returns a console that does not cut lines when it writes to a pipe, unless a width is given."""
    stream = sys.stderr if err else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else piped_width)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, drawn: bool = False) -> None:
    """Prints a table on a terminal or if `drawn`, otherwise tab-separated lines with a header."""
    if not (drawn or watched()):
        echo("\t".join(columns))
        for row in rows:
            echo("\t".join(_flat(cell) for cell in row))
        return
    table = Table(*columns, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(escape(_text(cell)) for cell in row))
    console(piped_width=DRAWN_WIDTH).print(table)


def note_practice(simulated: bool) -> None:
    """Says on standard error that answers do not come from a real model."""
    if simulated:
        echo(PRACTICE_NOTE if settings().practice else LATE_MODEL_NOTE, fg="yellow", err=True)


def tokens(usage: dict[str, int] | None) -> int:
    """Returns the sum of prompt and completion tokens."""
    return (usage or {}).get("prompt_tokens", 0) + (usage or {}).get("completion_tokens", 0)


def money(cost_usd: float | None) -> str:
    """Formats a cost; a dash if the price is unknown."""
    return "–" if cost_usd is None else f"${cost_usd:.4f}"


def duration(seconds: float | None) -> str:
    """Formats seconds as `4.2 s`, `3 min 05 s` or `2 h 10 min`."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _text(cell: object) -> str:
    return "" if cell is None else safe(cell)


def _flat(cell: object) -> str:
    return " ".join(_text(cell).split())
