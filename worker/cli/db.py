"""`stepmill db`: brings the database to this version's schema, and says whether it is there."""

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
    """Operators' work on the database that STEPMILL_DATABASE_URL names."""


@db_group.command("upgrade")
@json_option
def upgrade_command(as_json: bool) -> None:
    """Migrate to this version's schema. Safe to repeat, and from several machines at once."""
    url = settings().database
    upgrade(url)
    if as_json:
        print_json({"database": without_password(url), "ready": True})
    else:
        echo(f"The database {without_password(url)} is at this version's schema.")


@db_group.command("check")
@json_option
def check_command(as_json: bool) -> None:
    """Say whether the database can be used by this version; exit code 3 when not."""
    url = settings().database
    check_database(url)
    if as_json:
        print_json({"database": without_password(url), "ready": True})
    else:
        echo(f"The database {without_password(url)} is ready.")
