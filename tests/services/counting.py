"""Counts what work costs: SQL statements and transactions of one engine, and commands that a Redis carried out."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Any, Protocol

from sqlalchemy import Engine, event


class RedisInfo(Protocol):
    """What counting needs of a redis-py client."""

    def info(self, section: str) -> Any: ...


class Counted:
    """Counts inside a `with` block; it may be entered again and goes on from where it stood.

    `statements` holds each statement as sent (an executemany is one), `round_trips` adds the BEGIN and COMMIT of each
    transaction, `redis` counts commands by name, by whomever they were sent: nobody else may use the server meanwhile.
    """

    def __init__(self, engine: Engine, redis: RedisInfo | None = None) -> None:
        self.engine = engine
        self.statements: list[str] = []
        self.transactions = 0
        self.redis: Counter[str] = Counter()
        self._client = redis
        self._before: Counter[str] = Counter()

    @property
    def round_trips(self) -> int:
        return len(self.statements) + 2 * self.transactions

    def __enter__(self) -> Counted:
        event.listen(self.engine, "before_cursor_execute", self._statement)
        self._before = self._commands()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.remove(self.engine, "before_cursor_execute", self._statement)
        self.redis += self._commands() - self._before

    def _statement(self, _conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("BEGIN"):
            self.transactions += 1
        else:
            self.statements.append(" ".join(statement.split()))

    def _commands(self) -> Counter[str]:
        if self._client is None:
            return Counter()
        stats = self._client.info("commandstats")
        return Counter({name.removeprefix("cmdstat_"): int(row["calls"]) for name, row in stats.items()} | {"info": 0})
