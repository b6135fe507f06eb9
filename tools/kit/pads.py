"""Chooses where notes are kept: the run's own scratchpad, or a named pad that a batch's runs share."""

from __future__ import annotations

from tools.kit.context import ToolContext

MAX_PAD_CHARS = 100_000


def pad(context: ToolContext, name: str | None) -> tuple[str, str, str]:
    """Returns scope and name for the context's notes, and the pad's name for a sentence.

    A run outside a batch does not share its named pads.
    """
    key = (name or "").strip().casefold()
    if not key:
        return "run", "scratchpad", "the scratchpad of this run"
    if context.batch_id is None:
        return "run", f"pad:{key}", f'the pad "{key}" of this run'
    return "batch", f"pad:{key}", f'the pad "{key}", which the runs of this batch share'
