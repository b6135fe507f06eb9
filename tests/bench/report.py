"""What was measured: a table for people, a JSON file for machines."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One number. `samples` are what it is the median of; `goal` says what was hoped for, in words."""

    section: str
    name: str
    value: float
    unit: str
    samples: tuple[float, ...] = ()
    goal: str = ""

    @property
    def spread(self) -> str:
        return f"{min(self.samples):.4g} to {max(self.samples):.4g}" if len(self.samples) > 1 else ""


def median_of(section: str, name: str, samples: Sequence[float], unit: str, goal: str = "") -> Figure:
    """The median of repetitions."""
    return Figure(section, name, statistics.median(samples), unit, tuple(samples), goal)


def percentiles(section: str, name: str, samples: Sequence[float], unit: str, goal: str = "") -> list[Figure]:
    """The median and the 99th percentile of single moments."""
    ordered = sorted(samples)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    count = f"of {len(ordered)}"
    return [
        Figure(section, f"{name}, p50 {count}", statistics.median(ordered), unit, goal=goal),
        Figure(section, f"{name}, p99 {count}", p99, unit),
    ]


def machine() -> dict[str, object]:
    """Where and when."""
    return {
        "cores": os.cpu_count(), "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "python": platform.python_version(), "system": platform.platform(),
        "load": [round(one, 2) for one in os.getloadavg()], "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }  # fmt: skip


def show(figures: Iterable[Figure], console: Console) -> None:
    """Prints a table with a part for each section."""
    table = Table(box=None, pad_edge=False)
    for column in ("what", "value", "", "range", "goal"):
        table.add_column(column, justify="right" if column == "value" else "left")
    section = ""
    for one in figures:
        if one.section != section:
            section = one.section
            table.add_row(f"[bold]{section}[/bold]")
        table.add_row(f"  {one.name}", f"{one.value:,.4g}" if one.value < 1000 else f"{one.value:,.0f}", one.unit,
                      one.spread, one.goal)  # fmt: skip
    console.print(table)


def save(path: Path, figures: Iterable[Figure]) -> None:
    """Writes the JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine(), "figures": [asdict(one) for one in figures]}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
