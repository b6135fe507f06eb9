"""`stepmill models`: the endpoints that answer, which of them are paused and why; pause and resume by hand."""

from __future__ import annotations

import click

from worker.cli.connection import connected, reading
from worker.cli.output import duration, json_option, print_json, print_table
from worker.core.errors import UserError
from worker.core.records import JsonObject


@click.group("models", invoke_without_command=True)
@json_option
@click.pass_context
def models_group(ctx: click.Context, as_json: bool) -> None:
    """Model endpoints: which there are, which are paused and why."""
    if ctx.invoked_subcommand is None:
        _list(as_json)


@models_group.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """The same as `stepmill models`."""
    _list(as_json)


def _list(as_json: bool) -> None:
    with reading() as client:
        items = client.get("/api/models")["items"]
    if as_json:
        print_json(items)
        return
    print_table(("model", "address", "state", "reason", "looks again in", "runs waiting"), [_row(one) for one in items])


def _row(one: JsonObject) -> tuple[object, ...]:
    again = duration(one["retry_in_s"]) if one.get("retry_in_s") is not None else ""
    return one["model"], one["base_url"], one["state"], one.get("reason"), again, one.get("waiting_runs")


@models_group.command("pause")
@click.argument("model")
@click.option("--reason", help="Told to everybody whose run waits.")
@json_option
def pause_command(model: str, reason: str | None, as_json: bool) -> None:
    """Let nobody call this model until `resume`."""
    _act(model, "pause", as_json, {"reason": reason} if reason else {})


@models_group.command("resume")
@click.argument("model")
@json_option
def resume_command(model: str, as_json: bool) -> None:
    """Let a paused model be called again; its waiting runs go on as slots come free."""
    _act(model, "resume", as_json, {})


def _act(model: str, verb: str, as_json: bool, body: JsonObject) -> None:
    with connected() as client:
        items = client.get("/api/models")["items"]
        chosen = [one for one in items if model in (one["model"], one["endpoint_id"])]
        if not chosen:
            known = ", ".join(sorted({one["model"] for one in items})) or "none yet"
            raise UserError(f"There is no model {model!r}.", f"Known models: {known}.")
        changed = [client.post(f"/api/models/{one['endpoint_id']}/{verb}", body) for one in chosen]
    if as_json:
        print_json(changed)
        return
    for one in changed:
        said = f"is {one['state']}" if one["changed"] else f"was {one['state']} already"
        click.echo(f"{one['model']} at {one['base_url']} {said}.")
