"""The outcome of a watched batch, as an exit code and in words."""

from __future__ import annotations

from worker.cli.client import Client
from worker.cli.errors import EXIT_FAILED
from worker.cli.live import watch
from worker.core.records import JsonObject
from worker.terminal import echo


def watch_to_the_end(
    client: Client, batch_id: str, quiet: bool, allow_failures: bool, temporary: bool = False
) -> tuple[int, JsonObject]:
    """Watches; returns the exit code and the batch. Ctrl-C leaves the batch running and says how to watch it again.

    `quiet` keeps standard output free for JSON; `temporary` says that the stack ends with this command.
    """
    try:
        batch = watch(client, batch_id, err=quiet)
    except KeyboardInterrupt:
        come_back(batch_id, temporary)
        raise
    if not quiet:
        tell_outcome(batch)
    return exit_code(batch, allow_failures), batch


def come_back(batch_id: str, temporary: bool) -> None:
    """Prints how to watch the batch again."""
    if temporary:
        echo(f"\nThis command's stack stops; batch {batch_id} is kept and continues at the next start.", err=True)
        echo(f"Continue: stepmill up --detach && stepmill batch status {batch_id} --watch", err=True)
    else:
        echo(f"\nBatch {batch_id} keeps running.", err=True)
        echo(f"Watch again: stepmill batch status {batch_id} --watch", err=True)


def tell_outcome(batch: JsonObject) -> None:
    """Prints what to do next, once the batch has ended or is paused."""
    batch_id = batch["batch_id"]
    if batch.get("paused_reason"):
        more = " --budget USD" if batch["paused_reason"] == "budget" else ""
        echo(f"Paused: {batch['paused_reason']}. Continue: stepmill batch resume {batch_id}{more}")
        return
    echo(f"Results: stepmill batch results {batch_id} --output results.jsonl")
    if batch["counts"]["failed"]:
        echo(f"Try the failed ones again: stepmill batch retry {batch_id}")


def exit_code(batch: JsonObject, allow_failures: bool) -> int:
    """Returns 0 if all succeeded; with `allow_failures` also if some failed but all ended."""
    if batch["state"] == "done" and (allow_failures or batch["counts"]["succeeded"] == batch["total"]):
        return 0
    return EXIT_FAILED
