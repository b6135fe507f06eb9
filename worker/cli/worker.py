"""`stepmill worker`: checks Redis and the database, then runs a worker."""

from __future__ import annotations

import click

from tools.registry import load_tools
from worker.cli.checks import require_ready
from worker.cli.connection import join_running_stack
from worker.cli.plans import known_queues
from worker.core.errors import UserError
from worker.core.states import QUEUE_QUARANTINE
from worker.settings import settings

THINK_CONCURRENCY, TOOL_CONCURRENCY = 32, 2


@click.command("worker")
@click.option(
    "--queues",
    required=True,
    metavar="Q,…",
    help="Queues to serve: think, think.interactive, tools.local, …; quarantine for all of quarantine.",
)
@click.option(
    "--pool", type=click.Choice(["threads", "prefork"]), help="Default: threads for think, prefork for tools."
)
@click.option("--concurrency", type=click.IntRange(1, 1000), help="Default: 32 for think, 2 for tools.")
@click.option("--name", help="The worker's name; by default its queues and the machine.")
def worker_command(queues: str, pool: str | None, concurrency: int | None, name: str | None) -> None:
    """Run a worker for these queues, until SIGTERM or Ctrl-C; then it hands back what it cannot finish."""
    join_running_stack()
    config = settings()
    wanted = list(dict.fromkeys(part.strip() for part in queues.split(",") if part.strip()))
    known = [*known_queues(load_tools(config.tool_modules)), QUEUE_QUARANTINE]
    unknown = [queue for queue in wanted if queue not in known]
    if unknown or not wanted:
        said = f"There is no queue {unknown[0]!r}." if unknown else "--queues names no queue."
        raise UserError(said, f"Known queues: {', '.join(known)}.")
    require_ready(config)
    thinks = all(queue.startswith("think") for queue in wanted)
    pool = pool or ("threads" if thinks else "prefork")
    concurrency = concurrency or (THINK_CONCURRENCY if thinks else TOOL_CONCURRENCY)
    # Imported here because Celery takes a second to import, and a wrong queue name should be refused at once.
    from worker.fleet.process import run_worker

    click.get_current_context().exit(run_worker(wanted, pool, concurrency, name))
