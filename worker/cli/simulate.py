"""`stepmill simulate`: the practice model on a port."""

from __future__ import annotations

import sys
from typing import Any

import click

from worker.practice import Config, run_forever
from worker.practice.config import DEFAULT_MODELS
from worker.practice.quirks import QUIRKS
from worker.terminal import echo

EXIT_UNREACHABLE = 3
EXIT_INTERRUPTED = 130


@click.command("simulate", help="Serve the practice model: an OpenAI-compatible endpoint that needs no key.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8100, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 chooses a free one."
)
@click.option(
    "--latency",
    default="0",
    show_default=True,
    envvar="STEPMILL_SIMULATE_LATENCY",
    help="Seconds a reply takes: 1.0, uniform:0.5,2, lognormal:1.0,0.5 (median, sigma), exponential:1.0.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of latencies, faults and untidiness.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    envvar="STEPMILL_SIMULATE_FAULTS",
    help="KIND[:RATE][,name=value], such as 429:0.1,retry_after=2 or timeout:0.01; may be repeated.",
)
@click.option("--script", default="", help="Faults of the next requests, one each, such as ok,429,drop.")
@click.option("--untidy", "untidy", multiple=True, help="Write replies untidily: a kind, or all; may be repeated.")
@click.option(
    "--untidy-rate", default=1.0, show_default=True, type=click.FloatRange(0, 1), help="Share of untidy replies."
)
@click.option(
    "--quirk",
    "quirks",
    multiple=True,
    envvar="STEPMILL_SIMULATE_QUIRKS",
    help="Differ as real endpoints do: a name of --quirk list, or name.N for its Nth wording; may be repeated.",
)
@click.option("--rpm", type=click.IntRange(1), help="Requests a minute of each model; 429 beyond.")
@click.option("--tpm", type=click.IntRange(1), help="Prompt tokens a minute of each model; 429 beyond.")
@click.option("--concurrency", type=click.IntRange(1), help="Calls at a time of each model; 429 beyond.")
@click.option("--context-window", type=click.IntRange(1), help="Tokens of prompt and reply; an error beyond.")
@click.option("--model", "models", multiple=True, help="A model's name, instead of the usual ones; others get a 404.")
def simulate_command(host: str, port: int, script: str, models: tuple[str, ...], **options: Any) -> None:
    """Starts the server and runs until it is interrupted."""
    if "list" in options["quirks"]:
        _list_quirks()
        return
    config = _config(script=[entry.strip() for entry in script.split(",") if entry.strip()], models=models, **options)
    try:
        run_forever(config, host, port, lambda url: echo(f"Practice model at {url} (Ctrl-C ends it)"))
    except OSError as error:
        reason = "is in use" if error.errno in (48, 98) else f"cannot be listened on: {error.strerror or error}"
        echo(f"Port {port} on {host} {reason}; choose another with --port.", err=True)
        sys.exit(EXIT_UNREACHABLE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _list_quirks() -> None:
    """Prints one line per quirk: what it does, its number of wordings, and the expected outcome of a question."""
    width = max(map(len, QUIRKS))
    for quirk in QUIRKS.values():
        ends = quirk.end if not quirk.native_end else f"{quirk.end}; native: {quirk.native_end}"
        count = f", {quirk.samples} samples" if quirk.samples > 1 else ""
        echo(f"{quirk.name:{width}}  {quirk.about}{count} → {ends}")


def _config(
    *, models: tuple[str, ...], rpm: int | None, tpm: int | None, concurrency: int | None, **changes: Any
) -> Config:
    limits = {"rpm": rpm, "tpm": tpm, "concurrency": concurrency}
    untidy = changes.pop("untidy")
    try:
        return Config().changed(
            {
                **changes,
                "limits": limits,
                "models": models or DEFAULT_MODELS,
                "strict_models": bool(models),
                "untidy": "all" if "all" in untidy else untidy,
            }
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


if __name__ == "__main__":
    simulate_command()
