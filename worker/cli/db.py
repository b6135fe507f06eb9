"""`stepmill db`: upgrades the database to this version's schema, or checks it."""

from __future__ import annotations

import click

from worker.cli.checks import check_database
from worker.cli.output import json_option, print_json
from worker.llm.address import without_password
from worker.settings import settings
from worker.store.schema.migrate import upgrade
from worker.terminal import echo


@click.group("db")
def db_group() -> None:
    """Upgrade or check the database that STEPMILL_DATABASE_URL names."""


@db_group.command("upgrade")
@json_option
def upgrade_command(as_json: bool) -> None:
    """Migrate to this version's schema. Safe to repeat, and to run on several machines at once."""
    url = settings().database
    upgrade(url)
    if as_json:
        print_json({"database": without_password(url), "ready": True})
    else:
        echo(f"The database {without_password(url)} is at this version's schema.")


@db_group.command("check")
@json_option
def check_command(as_json: bool) -> None:
    """Check whether this version can use the database; exit code 3 if not."""
    url = settings().database
    check_database(url)
    if as_json:
        print_json({"database": without_password(url), "ready": True})
    else:
        echo(f"The database {without_password(url)} is ready.")
