"""The input of each measurement."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from tests.bench.peers import Peers
from tests.bench.servers import Servers

ROUNDS = 5


@dataclass(frozen=True)
class Bench:
    """The servers, and how thorough to be."""

    servers: Servers
    console: Console
    quick: bool = False
    peers: Peers | None = None

    def rounds(self) -> range:
        """Repetitions of what a median is taken of."""
        return range(1 if self.quick else ROUNDS)

    def say(self, what: str) -> None:
        """Tells how far it is."""
        self.console.print(f"[dim]{what}[/dim]")
