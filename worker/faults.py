"""Named points at which a test may kill, freeze or delay a process. Only tests set the hook."""

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
"""They lie between claim and call, call and apply, apply and send, `started_at` and effect, a sweep's read and write,
a migration's lock and work, and its work and commit.
"""

hook: Callable[[str], None] | None = None


def reach(point: str) -> None:
    """Calls the hook, if any, when the process reaches a point."""
    if hook is not None:
        hook(point)
