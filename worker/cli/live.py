"""Shows a batch while it runs: a live view on a terminal, one line per change if the output is piped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from worker.cli.client import Client
from worker.cli.errors import EXIT_UNREACHABLE
from worker.cli.output import console, duration, money, tokens
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.terminal import echo, safe

AGAIN_S = 0.5
AWAY_S = 60.0
"""Watching survives an API that is away for less than this, for example while it restarts."""
Show = Callable[[JsonObject], None]
Enough = Callable[[JsonObject], bool]
QUIET_S = 5.0
"""If piped, least time between two lines when only the counts change."""


def never(_batch: JsonObject) -> bool:
    """Never stops watching before the end."""
    return False


def watch(client: Client, batch_id: str, *, err: bool = False, enough: Enough = never) -> JsonObject:
    """Shows the batch until it has ended, is paused, or `enough` returns true for it. Returns the batch.

    With `err`, shows it on standard error.
    """
    stream = sys.stderr if err else sys.stdout
    if not stream.isatty():
        return _until_ended(client, batch_id, _Lines(err).show, enough)
    with Live(console=console(err=err), refresh_per_second=4, transient=False) as live:

        def show(batch: JsonObject) -> None:
            live.update(view(batch))

        return _until_ended(client, batch_id, show, enough)


def _until_ended(client: Client, batch_id: str, show: Show, enough: Enough) -> JsonObject:
    answered_at = time.monotonic()
    while True:
        try:
            for batch in _looks(client, batch_id):
                answered_at = time.monotonic()
                show(batch)
                if batch["state"] != "open" or batch.get("paused_reason") or enough(batch):
                    return batch
        except UserError as error:
            if error.exit_code != EXIT_UNREACHABLE or time.monotonic() - answered_at > AWAY_S:
                raise
        time.sleep(AGAIN_S)


def _looks(client: Client, batch_id: str) -> Iterator[JsonObject]:
    """Yields the batch whenever it has changed, and unchanged when only a sign of life arrives."""
    batch: JsonObject | None = None
    for event in client.batch_events(batch_id):
        if event.kind in ("progress", "end"):
            batch = event.data
        if batch is not None:
            yield batch


class _Lines:
    """Prints a line when something changes that matters in a log."""

    def __init__(self, err: bool) -> None:
        self._err = err
        self._last = ""
        self._news: tuple[object, ...] = ()
        self._at = float("-inf")

    def show(self, batch: JsonObject) -> None:
        news = (batch["state"], batch.get("paused_reason"), *reasons(batch))
        line = " | ".join([summary(batch), *reasons(batch)])
        due = time.monotonic() - self._at >= QUIET_S
        if line != self._last and (news != self._news or due):
            echo(line, err=self._err)
            self._last, self._news, self._at = line, news, time.monotonic()


def ended(batch: JsonObject) -> int:
    counts = batch["counts"]
    return int(counts["succeeded"] + counts["failed"] + counts["cancelled"])


def summary(batch: JsonObject) -> str:
    """Returns the state of a batch in one line."""
    counts = batch["counts"]
    parts = [
        f"{batch['batch_id']} {state_of(batch)}",
        f"{ended(batch):,}/{batch['total']:,} ended",
        ", ".join(f"{counts[name]:,} {name}" for name in counts if counts[name]),
        *_numbers(batch),
    ]
    return " | ".join(part for part in parts if part)


def _numbers(batch: JsonObject) -> list[str]:
    parts = [f"{tokens(batch['usage']):,} tokens"]
    if not batch.get("simulated") or batch.get("budget_usd"):
        parts.append(
            money(batch["cost_usd"]) + (f" of {money(batch['budget_usd'])}" if batch.get("budget_usd") else "")
        )
    if batch.get("reserved_usd"):
        parts.append(f"up to {money(batch['reserved_usd'])} more of unknown usage")
    if batch["wasted"].get("attempts") or batch["wasted"]["tokens"]:
        parts.append(wasted(batch["wasted"]))
    if batch.get("runs_per_s"):
        parts.append(f"{batch['runs_per_s']:.1f} runs/s")
    if batch.get("seconds_left") and batch["state"] == "open":
        parts.append(f"about {duration(batch['seconds_left'])} left")
    return parts


def wasted(waste: JsonObject) -> str:
    """Returns, for example, `1,200 tokens, 35.0 s and 3 attempts wasted`."""
    parts = [f"{waste['tokens']:,} tokens"]
    if "attempts" in waste:
        parts.append(f"{duration(waste['seconds'])} and {waste['attempts']:,} attempts")
    return ", ".join(parts) + " wasted"


def state_of(batch: JsonObject) -> str:
    """Returns `open`, `done`, `cancelled`, or paused with its reason."""
    reason = batch.get("paused_reason")
    return f"paused ({reason})" if reason else str(batch["state"])


def reasons(batch: JsonObject) -> list[str]:
    """Returns what the waiting runs wait for, and how the failed ones failed."""
    waiting = [f"{one['runs']:,} wait: {one['reason']}" for one in batch.get("waiting") or ()]
    failed = [f"{count:,} failed: {code}" for code, count in (batch.get("errors") or {}).items()]
    return waiting + failed


def view(batch: JsonObject) -> Group:
    """Returns the batch drawn for a terminal."""
    counts = batch["counts"]
    head = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=max(1, batch["total"]), completed=ended(batch), width=40)
    state = Text(safe(state_of(batch)))
    head.add_row(bar, f"{ended(batch):,}/{batch['total']:,}", state, batch["batch_id"])
    states = "  ".join(f"{counts[name]:,} {name}" for name in counts)
    lines = [Text(states), Text("  ".join(_numbers(batch)))]
    return Group(head, *lines, *(Text(safe(reason), style="yellow") for reason in reasons(batch)))
