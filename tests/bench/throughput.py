"""Model calls a second at latency 0: the engine on both databases, its ceiling, a plain loop, and peers, in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tests.bench.bench import Bench
from tests.bench.ceiling import TASKS_A_RUN, ceiling
from tests.bench.peers import plain_loop
from tests.bench.report import Figure, median_of
from tests.bench.rig import THINK, TOOLS, Rig, rig

SECTION = "latency 0, one think worker of 4 threads, one tool process"
CALLS_A_RUN = 4
THREADS, PROCESSES = 4, 1
WARM_UP = 20
GOALS = {
    "LangGraph with PostgreSQL": "ours at least 1.3, aim 2 times",
    "DBOS on PostgreSQL": "ours at least 1.5, aim 2.5 times",
}


def measure(bench: Bench) -> Iterator[Figure]:
    """Rounds in which each takes its turn, so that the machine's drift meets all alike."""
    bench.servers.model.set()
    count = 60 if bench.quick else 400
    with ExitStack() as stack:
        ours = {kind: stack.enter_context(ready(bench, kind, n)) for n, kind in enumerate(("postgres", "sqlite"))}
        bare = stack.enter_context(ceiling(bench.servers, 2, THREADS, PROCESSES))
        turns: dict[str, Callable[[], float]] = {
            "stepmill on PostgreSQL": lambda: calls_per_s(ours["postgres"], count),
            "stepmill on SQLite": lambda: calls_per_s(ours["sqlite"], count),
            "bare Celery": lambda: bare.tasks_per_s(count),
            "a plain asyncio loop": lambda: plain_loop(bench.servers, count),
        }
        for name, runner in (bench.peers.runners(bench.servers) if bench.peers else {}).items():
            turns[name] = lambda runner=runner: runner(count)  # type: ignore[misc]
        samples: dict[str, list[float]] = {name: [] for name in turns}
        for _ in bench.rounds():
            for name, turn in turns.items():
                bench.servers.checkpoint()
                samples[name].append(turn())
                bench.say(f"{name}: {samples[name][-1]:.1f}")
    yield from _figures(samples)


@contextmanager
def ready(bench: Bench, kind: str, redis_number: int) -> Iterator[Rig]:
    """A warm stack."""
    with rig(bench.servers, kind, redis_number) as opened:
        opened.worker(THINK, "threads", THREADS)
        opened.worker(TOOLS, "prefork", PROCESSES)
        calls_per_s(opened, WARM_UP)
        yield opened


def calls_per_s(opened: Rig, count: int) -> float:
    """Submits so many runs and waits for their end; model calls a second from the submission to the last end."""
    return count * CALLS_A_RUN / opened.finish(opened.submit(count))


def _figures(samples: dict[str, list[float]]) -> Iterator[Figure]:
    for name, values in samples.items():
        unit = "tasks/s" if name == "bare Celery" else "model calls/s"
        yield median_of(SECTION, name, values, unit)
    ours = samples["stepmill on PostgreSQL"]
    tasks = [value * TASKS_A_RUN / CALLS_A_RUN for value in ours]
    shares = [100 * mine / bare for mine, bare in zip(tasks, samples["bare Celery"], strict=True)]
    yield median_of(SECTION, "stepmill's tasks / bare Celery's, PostgreSQL", shares, "%", "at least 45, aim 60")
    for name, values in samples.items():
        if name not in ("stepmill on PostgreSQL", "stepmill on SQLite", "bare Celery"):
            ratios = [mine / other for mine, other in zip(ours, values, strict=True)]
            yield median_of(SECTION, f"stepmill on PostgreSQL / {name}", ratios, "×", GOALS.get(name, ""))
