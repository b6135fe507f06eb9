"""Named points at which a test may kill, freeze or delay a process. Nothing in the project sets the hook."""

from __future__ import annotations

from collections.abc import Callable

POINTS = (
    "think.claimed",
    "think.replied",
    "think.applied",
    "call.claimed",
    "call.started",
    "call.done",
    "call.applied",
    "sweep.read",
    "admit.committed",
    "migrate.begun",
    "migrate.written",
)
"""Between claim and call, call and apply, apply and send; `started_at` and effect; the sweeper's read and its write;
a migration's lock and its work, its work and its commit.
"""

hook: Callable[[str], None] | None = None


def reach(point: str) -> None:
    """Marks that this process is about to go past a point."""
    if hook is not None:
        hook(point)
