"""Paused model endpoints, kept in SQL: the whole fleet avoids them until a time, a probe or a person reopens them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, not_, or_, select, true, update
from sqlalchemy.dialects import postgresql, sqlite

from worker.core.remedies import PauseKind, remedy
from worker.core.states import Outcome, Parked
from worker.store.hot.interface import Lease
from worker.store.hot.parked import READY, parked_for
from worker.store.schema.tables import active, attempts, endpoints
from worker.store.session import NOW, AnyRow, Store

PROBE_FIRST_S, PROBE_MOST_S = 15.0, 600.0
TURNED_AWAY_FOR_LONG = 3
"""After this many refusals of one step without a retry time, an endpoint that answers no other run is paused."""
PAUSES_OF_ONE = 2
"""After this many failures of one step that paused an endpoint which then answered others, the next ends the run."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Why an endpoint is paused. `retry_in_s` is the time until it reopens by itself or is probed."""

    endpoint_id: str
    model: str
    reason: str
    retry_in_s: float
    probe_run: str | None = None
    kind: str | None = None
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """The reason, and what a person must do."""
        return why_paused(self.reason, self.remedy)


def why_paused(reason: str, remedy: str) -> str:
    """Joins reason and remedy into one text."""
    return f"{reason.rstrip('.')}. {remedy}"


def pause(
    store: Store,
    endpoint_id: str,
    base_url: str,
    model: str,
    reason: str,
    *,
    for_s: float | None,
    by: str = "stepmill",
    kind: PauseKind | None = None,
    api_key_env: str | None = None,
) -> None:
    """Pauses an endpoint for the fleet. With `for_s` it reopens by itself after that; without, probes try it.

    `kind` and `api_key_env`, the variable that holds the key, are used for the remedy.

    A second pause never shortens the first: one without an end stays, and one by hand stays until a person lifts it.
    """
    about = {"paused_kind": kind and kind.value, "api_key_env": api_key_env}
    new = {"id": endpoint_id, "base_url": base_url, "model": model, "paused_reason": reason, "paused_by": by, **about}
    until = None if for_s is None else NOW + for_s
    upsert = postgresql.insert if store.postgres else sqlite.insert
    statement = upsert(endpoints).values(**new, paused_until=until, probe_at=NOW + PROBE_FIRST_S, changed_at=NOW)
    greatest = func.greatest if store.postgres else func.max
    values = {
        "paused_reason": reason,
        "paused_by": by,
        "paused_kind": kind and kind.value,
        "api_key_env": func.coalesce(api_key_env, endpoints.c.api_key_env),
        "paused_until": None if for_s is None else greatest(func.coalesce(endpoints.c.paused_until, 0.0), until),
        "probe_at": NOW + func.coalesce(_next_probe(), PROBE_FIRST_S),
        "probe_run": None,
        "changed_at": NOW,
    }
    with store.write() as tx:
        gives_way = _gives_way(for_s, by)
        tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values, where=gives_way))


def _gives_way(for_s: float | None, by: str) -> ColumnElement[bool]:
    """Returns the condition under which a pause in force may be replaced by a new one."""
    endless = and_(endpoints.c.paused_reason.is_not(None), endpoints.c.paused_until.is_(None))
    if for_s is not None:
        return not_(endless)
    by_hand = func.coalesce(endpoints.c.paused_by, "stepmill") != "stepmill"
    return true() if by != "stepmill" else not_(and_(endless, by_hand))


def _next_probe() -> ColumnElement[float]:
    # Doubles with each failed probe, up to the bound.
    steps = [(endpoints.c.probes == n, PROBE_FIRST_S * 2.0**n) for n in range(6)]
    return case(*steps, else_=PROBE_MOST_S)


def resume(store: Store, endpoint_id: str) -> bool:
    """Reopens an endpoint; runs parked for it take slots as they come free. False: it was not paused."""
    statement = (
        update(endpoints)
        .where(endpoints.c.id == endpoint_id, endpoints.c.paused_reason.is_not(None))
        .values(
            paused_reason=None,
            paused_by=None,
            paused_kind=None,
            paused_until=None,
            probe_run=None,
            probes=0,
            changed_at=NOW,
        )
    )
    with store.write() as tx:
        opened = tx.execute(statement).rowcount == 1
        tx.execute(update(active).where(parked_for(Parked.MODEL, endpoint_id)).values(**READY))
        return opened


def slow_down(store: Store, endpoint_id: str, base_url: str, model: str, for_s: float) -> None:
    """Records for the fleet that an adaptive limit is in force; every call asks the limiter until it ends."""
    upsert = postgresql.insert if store.postgres else sqlite.insert
    new = {"id": endpoint_id, "base_url": base_url, "model": model, "slowed_until": NOW + for_s, "changed_at": NOW}
    changed = {"slowed_until": NOW + for_s, "changed_at": NOW}
    with store.write() as tx:
        tx.execute(upsert(endpoints).values(**new).on_conflict_do_update(index_elements=["id"], set_=changed))


def slowed(store: Store) -> set[str]:
    """Returns the ids of endpoints for which an adaptive limit is in force."""
    with store.read() as tx:
        return set(tx.execute(select(endpoints.c.id).where(endpoints.c.slowed_until > NOW)).scalars())


def paused(store: Store) -> dict[str, Pause]:
    """Returns all pauses by endpoint id."""
    query = select(endpoints, NOW.label("now")).where(endpoints.c.paused_reason.is_not(None))
    with store.read() as tx:
        rows = tx.execute(query).all()
    return {r.id: _pause(r) for r in rows}


def _pause(row: AnyRow) -> Pause:
    until = row.paused_until or row.probe_at or row.now
    return Pause(
        row.id,
        row.model,
        row.paused_reason,
        max(0.0, until - row.now),
        row.probe_run,
        row.paused_kind,
        remedy_of(row),
    )


def remedy_of(row: AnyRow) -> str:
    """Returns what a person must do about a paused endpoint."""
    kind = PauseKind.BY_HAND.value if row.paused_by not in (None, "stepmill") else row.paused_kind
    return remedy(kind, row.model, row.base_url, row.api_key_env)


def note_answered(store: Store, endpoint_id: str, base_url: str, model: str, ago_s: float = 0.0) -> None:
    """Records that the endpoint answered a call `ago_s` seconds ago."""
    upsert = postgresql.insert if store.postgres else sqlite.insert
    at = NOW - ago_s
    new = {"id": endpoint_id, "base_url": base_url, "model": model, "answered_at": at, "changed_at": NOW}
    greatest = func.greatest if store.postgres else func.max
    latest = greatest(func.coalesce(endpoints.c.answered_at, 0.0), at)
    with store.write() as tx:
        statement = upsert(endpoints).values(**new)
        tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"answered_at": latest}))


def answered_since_failure(store: Store, endpoint_id: str, lease: Lease, failures: int) -> bool:
    """Returns whether the endpoint has answered any run since this step's model call first failed.

    `failures` is how many of its failures were counted before the current one.
    """
    failed = failures_of(lease).order_by(attempts.c.claimed_at.desc()).offset(max(0, failures - 1)).limit(1)
    began = select(attempts.c.claimed_at).where(attempts.c.token == lease.token)
    since = func.coalesce(failed.scalar_subquery(), began.scalar_subquery())
    with store.read() as tx:
        query = select(endpoints.c.id).where(endpoints.c.id == endpoint_id, endpoints.c.answered_at > since)
        return tx.execute(query).first() is not None


def failures_of(lease: Lease) -> Select[tuple[float]]:
    """Selects when the failed model calls of this step ended."""
    return _calls_of(lease, Outcome.ERROR)


def _calls_of(lease: Lease, outcome: Outcome) -> Select[tuple[float]]:
    return (
        select(attempts.c.ended_at)
        .where(attempts.c.run_id == lease.run_id, attempts.c.step == lease.step, attempts.c.call == 0)
        .where(attempts.c.outcome == outcome.value)
    )


def turned_away_for_long(store: Store, endpoint_id: str, lease: Lease) -> bool:
    """Returns whether the endpoint, counting now, refused this step `TURNED_AWAY_FOR_LONG` times and answered none."""
    before = TURNED_AWAY_FOR_LONG - 1
    with store.read() as tx:
        refused = len(tx.execute(failures_of(lease).limit(before)).all())
    return refused == before and not answered_since_failure(store, endpoint_id, lease, before)


def answered_small(store: Store, lease: Lease) -> bool:
    """Returns whether a small test request was answered after this step's own request had failed."""
    with store.read() as tx:
        return tx.execute(_calls_of(lease, Outcome.OK).limit(1)).first() is not None


def has_failed(store: Store, lease: Lease) -> bool:
    """Returns whether a model call of this step has failed before."""
    with store.read() as tx:
        return tx.execute(failures_of(lease).limit(1)).first() is not None


def answered_since_pauses(store: Store, endpoint_id: str, lease: Lease) -> bool:
    """Returns whether this step failed at least `PAUSES_OF_ONE` times and the endpoint has answered since."""
    failed = failures_of(lease).subquery()
    last = select(func.max(failed.c.ended_at)).having(func.count() >= PAUSES_OF_ONE).scalar_subquery()
    with store.read() as tx:
        query = select(endpoints.c.id).where(endpoints.c.id == endpoint_id, endpoints.c.answered_at > last)
        return tx.execute(query).first() is not None


def answered_within(store: Store, endpoint_id: str, within_s: float) -> bool:
    """Returns whether the endpoint has answered any run in the last `within_s` seconds."""
    with store.read() as tx:
        query = select(endpoints.c.id).where(endpoints.c.id == endpoint_id, endpoints.c.answered_at > NOW - within_s)
        return tx.execute(query).first() is not None


def reopen_due(store: Store) -> int:
    """Reopens endpoints whose pause is over, and lets one waiting run probe each whose pause has no end time."""
    due = select(endpoints.c.id, endpoints.c.paused_until).where(
        endpoints.c.paused_reason.is_not(None), endpoints.c.paused_by == "stepmill"
    )
    over = or_(endpoints.c.paused_until <= NOW, (endpoints.c.paused_until.is_(None)) & (endpoints.c.probe_at <= NOW))
    with store.read() as tx:
        rows = tx.execute(due.where(over)).all()
    moved = _free_the_forgotten(store)
    for row in rows:
        moved += resume(store, row.id) if row.paused_until is not None else _probe(store, row.id)
    return moved


def _free_the_forgotten(store: Store) -> int:
    """Unparks runs that were parked after the endpoint had reopened, by a worker that did not know yet."""
    paused_now = exists().where(endpoints.c.id == active.c.parked_target, endpoints.c.paused_reason.is_not(None))
    forgotten = and_(parked_for(Parked.MODEL), ~paused_now)
    with store.read() as tx:
        if tx.execute(select(active.c.run_id).where(forgotten).limit(1)).first() is None:
            return 0
    with store.write() as tx:
        return tx.execute(update(active).where(forgotten).values(**READY)).rowcount


def _probe(store: Store, endpoint_id: str) -> bool:
    # Runs that have not failed there go first: a failed run's own request may be at fault.
    waiting = select(active.c.run_id).where(parked_for(Parked.MODEL, endpoint_id))
    first = waiting.order_by(active.c.failures, active.c.parked_at)
    with store.write() as tx:
        run_id = tx.execute(first.limit(1)).scalar()
        if run_id is None:
            return False
        taken = tx.execute(
            update(endpoints)
            .where(endpoints.c.id == endpoint_id, endpoints.c.probe_at <= NOW, endpoints.c.paused_reason.is_not(None))
            .values(probe_run=run_id, probes=endpoints.c.probes + 1, probe_at=NOW + PROBE_MOST_S)
        )
        if taken.rowcount != 1:
            return False
        tx.execute(update(active).where(active.c.run_id == run_id).values(parked=Parked.PROBE.value))
        return True
