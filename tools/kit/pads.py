"""Where notes are kept: the run's own scratchpad, or a named pad that the runs of a batch share."""

from __future__ import annotations

from tools.kit.context import ToolContext

MAX_PAD_CHARS = 100_000


def pad(context: ToolContext, name: str | None) -> tuple[str, str, str]:
    """Scope and name for the context's notes, and how to call the pad in a sentence.

    A run outside a batch keeps its named pads to itself.
    """
    key = (name or "").strip().casefold()
    if not key:
        return "run", "scratchpad", "the scratchpad of this run"
    if context.batch_id is None:
        return "run", f"pad:{key}", f'the pad "{key}" of this run'
    return "batch", f"pad:{key}", f'the pad "{key}", which the runs of this batch share'
