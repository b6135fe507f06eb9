"""Reads notes back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tools.base import ToolContext, tool
from tools.kit.pads import pad


@tool(timeout_s=10.0, idempotent=True)
def recall(context: ToolContext, name: Annotated[str | None, Field(max_length=100)] = None) -> str:
    """Reads what note wrote, oldest first. Without a name it reads this run's own scratchpad.

    Args:
        name: The pad to read, where the note was written with a name.
    """
    scope, key, shown = pad(context, name)
    text = context.notes.get(scope, key)
    return text or f"There is nothing yet in {shown}."
