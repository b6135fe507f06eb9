"""What a step costs in statements, round trips, rows and published messages; and how many updates are HOT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from redis import Redis
from sqlalchemy import text

from tests.bench.bench import Bench
from tests.bench.report import Figure
from tests.bench.rows_visited import explained
from tests.bench.walk import PIECES, Cost, Walk, costs, walking
from worker.core.work_messages import WorkMessage
from worker.store.session import Store

HOT_TABLES = ("active", "tool_calls", "attempts")


def measure(bench: Bench) -> Iterator[Figure]:
    """Exact numbers; they do not depend on the machine."""
    bench.servers.model.set()
    for number, kind in enumerate(("postgres", "sqlite"), 4):
        redis_url = bench.servers.redis_url(number)
        database = bench.servers.database(kind)
        with (
            walking(database, redis_url, bench.servers.model.base_url, bench.servers.directory) as walk,
            Redis.from_url(redis_url, decode_responses=True) as redis,
        ):
            found = costs(walk, redis)
            for name, each in found.items():
                yield from _figures(f"counted, {kind}: {name}", each[-1])
            if kind == "postgres":
                for name, rows in _rows(walk).items():
                    yield Figure("counted, postgres: rows visited", name, rows, "rows")
                for _ in range(20):
                    walk.run()
                yield from _hot(walk.rt.store)


def _figures(section: str, cost: Cost) -> Iterator[Figure]:
    yield Figure(section, "transactions", cost.transactions, "")
    yield Figure(section, "statements", cost.statements, "")
    yield Figure(section, "round trips to the database", cost.round_trips, "")
    yield Figure(section, "messages published", cost.redis.get("lpush", 0), "")
    yield Figure(section, "commands to Redis", sum(cost.redis.values()), "", goal=str(cost.redis))


def _rows(walk: Walk) -> dict[str, int]:
    """Rows visited by each kind of piece, at most."""
    most: Counter[str] = Counter(dict.fromkeys(PIECES, 0))

    def watched(name: str, work: Callable[[], WorkMessage | None]) -> WorkMessage | None:
        with explained(walk.rt.store) as visited:
            following = work()
        most[name] = max(most[name], visited.rows)
        return following

    walk.run(watched)
    return dict(most)


def _hot(store: Store) -> Iterator[Figure]:
    for table, share in hot_shares(store).items():
        yield Figure("updates that touch no index (HOT)", table, 100 * share, "%")


def hot_shares(store: Store) -> dict[str, float]:
    """The share of HOT updates of each hot table since the database was made."""
    store.dispose()  # sessions tell what they counted when they end
    query = text("SELECT relname, n_tup_hot_upd, n_tup_upd FROM pg_stat_user_tables WHERE n_tup_upd > 0")
    with store.read() as tx:
        rows = tx.execute(query).all()
    return {name: hot / updated for name, hot, updated in rows if name in HOT_TABLES}
