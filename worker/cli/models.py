"""`stepmill models`: the endpoints, which are paused, why, and what to do; what each refuses; pause, resume, forget."""

from __future__ import annotations

import click

from worker.cli.connection import connected, reading
from worker.cli.output import duration, json_option, print_json, print_table
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.terminal import echo


@click.group("models", invoke_without_command=True)
@json_option
@click.pass_context
def models_group(ctx: click.Context, as_json: bool) -> None:
    """List the model endpoints: which are paused, why and what to do, and what each refuses."""
    if ctx.invoked_subcommand is None:
        _list(as_json)


@models_group.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Same as `stepmill models`."""
    _list(as_json)


def _list(as_json: bool) -> None:
    with reading() as client:
        items = client.get("/api/models")["items"]
    if as_json:
        print_json(items)
        return
    print_table(COLUMNS, [_row(one) for one in items])
    learned = [_learned(one, what) for one in items for what in one["learned"]]
    if learned:
        echo()
        print_table(("model", "learned", "since it said", "forgotten in"), learned)


COLUMNS = ("model", "address", "state", "reason", "looks again in", "runs waiting", "what to do")


def _row(one: JsonObject) -> tuple[object, ...]:
    again = duration(one["retry_in_s"]) if one.get("retry_in_s") is not None else ""
    told = (one["state"], one.get("reason"), again, one.get("waiting_runs"), one.get("remedy"))
    return one["model"], one["base_url"], *told


def _learned(one: JsonObject, what: JsonObject) -> tuple[object, ...]:
    return one["model"], what["words"], what["said"], duration(what["forgotten_in_s"])


@models_group.command("pause")
@click.argument("model")
@click.option("--reason", help="The reason that waiting runs show.")
@json_option
def pause_command(model: str, reason: str | None, as_json: bool) -> None:
    """Pause a model: it gets no calls until `resume`."""
    _act(model, "pause", as_json, {"reason": reason} if reason else {})


@models_group.command("resume")
@click.argument("model")
@json_option
def resume_command(model: str, as_json: bool) -> None:
    """Resume a paused model; its waiting runs continue as slots become free."""
    _act(model, "resume", as_json, {})


@models_group.command("forget")
@click.argument("model", required=False)
@json_option
def forget_command(model: str | None, as_json: bool) -> None:
    """Forget what a model, or every model, was found to refuse: the usual request is tried again."""
    changed = _changed(model, "forget", {})
    if as_json:
        print_json(changed)
        return
    for one in changed:
        if one["changed"] or model:
            echo(f"{one['model']} at {one['base_url']}: {one['changed']} forgotten.")


def _changed(model: str | None, verb: str, body: JsonObject) -> list[JsonObject]:
    with connected() as client:
        items = client.get("/api/models")["items"]
        chosen = [one for one in items if model in (None, one["model"], one["endpoint_id"])]
        if model and not chosen:
            known = ", ".join(sorted({one["model"] for one in items})) or "none yet"
            raise UserError(f"There is no model {model!r}.", f"Known models: {known}.")
        return [client.post(f"/api/models/{one['endpoint_id']}/{verb}", body) for one in chosen]


def _act(model: str, verb: str, as_json: bool, body: JsonObject) -> None:
    changed = _changed(model, verb, body)
    if as_json:
        print_json(changed)
        return
    for one in changed:
        said = f"is {one['state']}" if one["changed"] else f"was {one['state']} already"
        echo(f"{one['model']} at {one['base_url']} {said}.")
