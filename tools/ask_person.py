"""Asks a person, who answers in their own time; the run gives up its slot meanwhile."""

from __future__ import annotations

from tools.base import tool


@tool(idempotent=True)
def ask_person(question: str) -> str:
    """Ask the person who watches over this run. Use it only for what no other tool and no knowledge of yours can tell.

    Args:
        question: One clear question, with all that is needed to answer it.

    Returns:
        The person's answer. It may take hours or days.
    """
    return f"Nobody is here to answer: {question[:200]} Go on with what you know, and say what is missing."
