"""`stepmill up`, `down` and `serve`: the stack of this directory, and its API alone."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from worker.cli.output import PRACTICE_NOTE, json_option, print_json, print_table
from worker.cli.plans import stack_plan
from worker.llm.address import without_password
from worker.local.detach import start_detached
from worker.local.output import Console
from worker.local.plan import StackPlan
from worker.local.stack import (
    FORMER_STACK_ENDS_WITHIN_S,
    compose,
    require_free_ports,
    run_services,
)
from worker.local.state import STATE_FILE, StackInfo, down, supervising
from worker.settings import Settings, settings
from worker.terminal import echo

PORT = click.IntRange(0, 65535)


@click.command("up")
@click.option("--detach", is_flag=True, help="Return once everything is ready; `stepmill down` stops it.")
@click.option("--port", default=8321, show_default=True, type=PORT, help="Port of the API; 0 chooses a free one.")
@click.option("--flower-port", default=5555, show_default=True, type=PORT, help="Port of Flower; 0 chooses a free one.")
@click.option("--no-flower", is_flag=True, help="Do not start Flower.")
@click.option("--quiet", is_flag=True, help="Do not print the parts' output; the log files have it in any case.")
def up_command(detach: bool, port: int, flower_port: int, no_flower: bool, quiet: bool) -> None:
    """Start the whole stack on this machine: Redis, database, workers, API, Flower.

    With STEPMILL_DATABASE_URL and STEPMILL_REDIS_URL set it uses those. Ctrl-C stops everything.
    """
    config = settings()
    plan = stack_plan(config, api_port=port, flower_port=0 if no_flower else flower_port)
    if detach:
        options = ["--port", str(port), "--flower-port", str(flower_port), *(["--no-flower"] if no_flower else [])]
        info = start_detached([*plan.stepmill, "up", "--quiet", *options], plan.data_dir)
        _tell(info, config, "`stepmill down` stops it.")
        return
    _run(plan, config, flower=not no_flower, console=None if quiet else Console(sys.stdout))


def _run(plan: StackPlan, config: Settings, *, flower: bool, console: Console | None) -> None:
    """Runs the stack until a signal has stopped everything."""
    data_dir = plan.data_dir
    former = (data_dir / STATE_FILE).exists()
    with supervising(data_dir):
        require_free_ports(plan.fixed_ports(), patience_s=FORMER_STACK_ENDS_WITHIN_S if former else 0.0)
        info, services = compose(plan.with_ports())
        if not flower:
            services = [service for service in services if service.name != "flower"]
            info = replace(info, addresses={name: url for name, url in info.addresses.items() if name != "Flower"})
        run_services(services, info, data_dir, console, lambda ready: _tell(ready, config, "Ctrl-C stops everything."))


def _tell(info: StackInfo, config: Settings, how_to_stop: str) -> None:
    """Prints the addresses once everything is ready."""
    rows = [*info.addresses.items(), ("database", without_password(config.database)), ("logs", info.log_dir)]
    echo("\nThe stack is ready.")
    print_table(("part", "address"), rows, drawn=True)
    if info.practice:
        echo(PRACTICE_NOTE, fg="yellow")
    echo(f'Try: stepmill ask "What is (15 + 7) * 3?"   {how_to_stop}')


@click.command("down")
@json_option
def down_command(as_json: bool) -> None:
    """Stop the stack that runs in this directory; unfinished work continues at the next start."""
    config = settings()
    stopped = down(config.data_dir)
    if as_json:
        print_json({"stopped": stopped})
    else:
        echo("Stopped." if stopped else f"No stack runs in {config.data_dir}.")


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8321, show_default=True, type=PORT, help="Port to listen on.")
def serve_command(host: str, port: int) -> None:
    """Serve the API; beyond loopback only if STEPMILL_ADMIN_KEY is set."""
    # Imported here because `up` and `down` need no web server.
    import uvicorn

    from api.binding import check_bind
    from api.early_errors import Wire
    from worker.local.ports import port_in_use

    check_bind(host, settings())
    if port and host in {"127.0.0.1", "localhost"} and port_in_use(port):
        raise click.UsageError(f"Port {port} is in use; choose another with --port.")
    uvicorn.run(
        "api.app:app", factory=True, host=host, port=port, access_log=False, timeout_graceful_shutdown=3, http=Wire
    )
