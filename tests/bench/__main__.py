"""`python -m tests.bench`: runs the measurements, prints a table, writes a JSON file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from tests.bench import counts, plans, scaling, sizes, slow_calls, startup, submission, throughput, waits
from tests.bench.bench import Bench
from tests.bench.peers import Peers
from tests.bench.report import Figure, machine, save, show
from tests.bench.servers import servers

DEFAULT_FILE = Path("build") / "bench.json"
MEASUREMENTS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "counts": counts.measure,
    "plans": plans.measure,
    "startup": startup.measure,
    "throughput": throughput.measure,
    "scaling": scaling.measure,
    "slow_calls": slow_calls.measure,
    "waits": waits.measure,
    "submission": submission.measure,
    "sizes": sizes.measure,
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts, one round: to see that it works")
    parser.add_argument("--json", type=Path, default=DEFAULT_FILE, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--only", action="append", choices=MEASUREMENTS, help="may be given several times")
    parser.add_argument("--peers", type=Path, metavar="DIR", help="scripts of other libraries: see docs/performance.md")
    parser.add_argument("--peers-python", default="", metavar="PATH", help="a Python in which they are installed")
    return parser.parse_args()


def main() -> None:
    given = options()
    console = Console()
    peers = Peers(given.peers, given.peers_python) if given.peers and given.peers_python else None
    console.print(f"Measured on {machine()}")
    figures: list[Figure] = []
    with servers() as started:
        bench = Bench(started, console, given.quick, peers)
        for name in given.only or MEASUREMENTS:
            console.print(f"[bold]{name}[/bold]")
            figures += MEASUREMENTS[name](bench)
            save(given.json, figures)
    show(figures, console)
    console.print(f"Written to {given.json}")


if __name__ == "__main__":
    main()
