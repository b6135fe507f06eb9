"""Writes a note for later steps, or for the other runs of a batch."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tools.base import ToolContext, ToolError, tool
from tools.kit.pads import MAX_PAD_CHARS, pad


@tool(timeout_s=10.0)
def note(
    text: Annotated[str, Field(min_length=1, max_length=10_000)],
    context: ToolContext,
    name: Annotated[str | None, Field(max_length=100)] = None,
) -> str:
    """Writes a note. Without a name it goes to this run's own scratchpad; recall reads it back.

    Args:
        text: What to remember.
        name: A pad that all runs of this batch share, for what the others should know too.
    """
    scope, key, shown = pad(context, name)
    before = context.notes.get(scope, key) or ""
    if len(before) + len(text) > MAX_PAD_CHARS:
        raise ToolError(f"There is no room left in {shown} ({len(before):,} characters). Use another name.")
    context.notes.append(scope, key, text)
    return f"Noted in {shown}."
