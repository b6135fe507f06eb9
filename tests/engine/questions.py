"""Questions for the practice model that lead to as many steps, and to the tools, that a test wants."""

from __future__ import annotations


def sums(count: int) -> list[str]:
    """Two steps each: the calculator, then the answer."""
    return [f"What is {n} + {n + 1}?" for n in range(count)]


def counted(count: int, name: str = "sheep") -> list[str]:
    """Three steps each: a tool that must not be repeated, one that may be, the answer."""
    return [f"Use count_up(name='{name}-{n}') then look_up(name='{name}-{n}')." for n in range(count)]


def long_ones(count: int, steps: int) -> list[str]:
    """`steps` steps each, all but the last with a tool call."""
    calls = " then ".join(f"look_up(name='thing-{n}')" for n in range(steps - 1))
    return [f"Use {calls}. Number {n}." for n in range(count)]


def mixed(count: int) -> list[str]:
    """All of these."""
    few = max(1, count // 3)
    return [*sums(count - 2 * few), *counted(few), *long_ones(few, 5)]
