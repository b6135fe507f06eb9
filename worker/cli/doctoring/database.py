"""Checks the database: reachable, of this version, writable, its clock in step with this machine's, consistent."""

from __future__ import annotations

import time
from collections.abc import Iterator

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from worker.cli.doctoring.finding import Finding, Level, Patient, fault
from worker.cli.errors import one_line
from worker.cli.output import duration
from worker.llm.address import without_password
from worker.store.opening import open_store
from worker.store.queries.admission import admission_health
from worker.store.queries.fleet import serving
from worker.store.recovery.invariants import COLD, HOT, SET_ASIDE, check
from worker.store.schema.migrate import NewerDatabase, known, revisions
from worker.store.session import Store

MOST_SKEW_S = 5.0
SHOWN_VIOLATIONS = 3


def database(patient: Patient) -> Iterator[Finding]:
    """Checks the configured database."""
    url = patient.settings.database
    if _not_made_yet(patient):
        yield Finding("database", "`stepmill up` will make an SQLite database in the data directory")
        return
    store = None
    try:
        store = open_store(url, pool_size=2)
        yield from _schema(store, url, patient)
        if "database" in patient.usable:
            yield from writable(store)
            yield from _clock(store)
            yield from _admission(store, patient)
            yield from _invariants(store)
    except (SQLAlchemyError, ModuleNotFoundError) as error:
        said = one_line(getattr(error, "orig", None) or error)
        remedy = "Start it, or correct STEPMILL_DATABASE_URL."
        message = f"The database {without_password(url)} cannot be used: {said}"
        yield fault("database", "database_away", message, remedy, Level.UNREACHABLE)
    finally:
        if store is not None:
            store.dispose()


def _not_made_yet(patient: Patient) -> bool:
    settings = patient.settings
    return not settings.database_url and not (settings.data_dir / "stepmill.db").exists()


def _schema(store: Store, url: str, patient: Patient) -> Iterator[Finding]:
    have, need = revisions(store)
    if have == need:
        patient.usable.add("database")
        yield Finding("database", f"{without_password(url)} is at schema {have}")
        return
    if have is not None and not known(have):
        newer = NewerDatabase(have)
        yield fault("database", "database_newer", newer.message, newer.hint)
        return
    state = "is empty" if have is None else f"has schema {have}, where this version needs {need}"
    yield fault(
        "database", "not_migrated", f"The database {without_password(url)} {state}.", "Run `stepmill db upgrade`."
    )


def writable(store: Store) -> Iterator[Finding]:
    """Checks that it accepts writes, and on SQLite that writers do not block readers."""
    try:
        with store.write() as tx:
            tx.execute(text("UPDATE workers SET stuck = stuck WHERE id = ''"))
    except SQLAlchemyError as error:
        said = one_line(getattr(error, "orig", None) or error)
        remedy = "Correct the permissions of the file or the role; a replica cannot be used."
        yield fault("database", "read_only", f"The database cannot be written: {said}", remedy)
        return
    if not store.postgres:
        with store.read() as tx:
            mode = tx.execute(text("PRAGMA journal_mode")).scalar()
        if mode != "wal":
            message = f"SQLite's journal mode is {mode}, not wal: readers and writers block one another."
            remedy = "Keep the data directory on a local disk; network file systems have no WAL."
            yield fault("database", "no_wal", message, remedy)


def _clock(store: Store) -> Iterator[Finding]:
    before = time.time()
    there = store.now()
    skew_s = there - (before + time.time()) / 2
    if abs(skew_s) > MOST_SKEW_S:
        message = f"This machine's clock and the database's differ by {abs(skew_s):.0f} s."
        yield fault("clock", "clock_skew", message, "Let NTP set both; times in reports are wrong.", Level.WARNING)


def _admission(store: Store, patient: Patient) -> Iterator[Finding]:
    """Checks that runs are admitted. If no worker or API runs, nothing can admit, so it is only a note."""
    health = admission_health(store)
    if health.problem:
        level = Level.FAULT if patient.stack or serving(store) else Level.WARNING
        remedy = "Look for `Admission` in the logs of workers and API; start the stack if it is down."
        yield fault("admission", "admission_stopped", health.problem, remedy, level)
    elif health.succeeded_at is not None:
        ago = max(0.0, store.now() - health.succeeded_at)
        yield Finding("admission", f"last went through {duration(ago)} ago")


def _invariants(store: Store) -> Iterator[Finding]:
    """Checks the rules that must always hold for the tables."""
    for broken in check(store, SHOWN_VIOLATIONS, (*HOT, *SET_ASIDE, *COLD)):
        message = f"{broken.says} Not so for {broken.subject}: {broken.seen}."
        yield fault("invariants", "invariant", message, "This is a bug in stepmill: keep the database and report it.")
