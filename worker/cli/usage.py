"""`stepmill usage`: daily usage, and how much of it was wasted."""

from __future__ import annotations

import click

from worker.cli.connection import reading
from worker.cli.output import duration, json_option, money, print_json, print_table, tokens
from worker.core.records import JsonObject

COLUMNS = (
    "day", "model calls", "tool calls", "tokens", "cost", "unknown, at most",
    "wasted attempts", "wasted tokens", "wasted cost", "wasted time",
)  # fmt: skip


@click.command("usage")
@click.option("--days", default=7, show_default=True, type=click.IntRange(1, 366), help="Number of past days, in UTC.")
@json_option
def usage_command(days: int, as_json: bool) -> None:
    """Show calls, tokens, cost and waste of each day."""
    with reading() as client:
        items = client.get("/api/usage", days=days)["items"]
    if as_json:
        print_json(items)
        return
    print_table(COLUMNS, [_row(one) for one in items])


def _row(day: JsonObject) -> tuple[object, ...]:
    waste = day["wasted"]
    return (
        day["day"],
        day["model_calls"],
        day["tool_calls"],
        tokens(day["usage"]),
        money(day["cost_usd"]),
        money(day["reserved_usd"]),
        waste["attempts"],
        waste["tokens"],
        money(waste["cost_usd"]),
        duration(waste["seconds"]),
    )
