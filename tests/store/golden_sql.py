"""The SQL of the hot path as it is sent, one file for each database: `python -m tests.store.golden_sql` writes them.

Lines are broken, and constants, which are sent as parameters, stand as what they are.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlalchemy import Dialect, Select, make_url
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.elements import CompilerElement

from worker.store.hot import applying, claiming, postgres

COMMAND = "python -m tests.store.golden_sql"
WIDTH = 120
DIRECTORY = Path(__file__).with_name("golden")

PARTS = ("lease_think", "starting", "acting", "start")
"""Parts of statements, which are never sent as they are."""

EVERYWHERE = (claiming, applying)
MODULES: dict[str, tuple[ModuleType, ...]] = {"sqlite": EVERYWHERE, "postgres": (postgres, *EVERYWHERE)}
DIALECTS: dict[str, Dialect] = {
    "sqlite": SQLiteDialect_pysqlite(),
    "postgres": make_url("postgresql+psycopg://").get_dialect()(),
}
READABLE: dict[str, Dialect] = {**DIALECTS, "sqlite": SQLiteDialect_pysqlite(paramstyle="named")}


def statements(database: str) -> Iterator[tuple[str, Select[Any] | UpdateBase]]:
    """Each statement with its name: whatever these modules have in capital letters that can be sent."""
    for module in MODULES[database]:
        for name, found in vars(module).items():
            if isinstance(found, Select | UpdateBase) and name.isupper() and name.lower() not in PARTS:
                yield f"{module.__name__.removeprefix('worker.store.hot.')}.{name}", found


def golden(database: str) -> str:
    """What its file says."""
    written = []
    for name, statement in statements(database):
        lines = filter(str.strip, _CLAUSE.sub(r"\n\1 ", _readable(statement, database)).splitlines())
        folded = [textwrap.fill(line.strip(), WIDTH, subsequent_indent="    ", **_AS_IT_IS) for line in lines]
        written.append("\n".join([f"-- {name}", *folded]) + ";\n")
    return "\n".join(written)


_CLAUSE = re.compile(r" (SET|FROM|WHERE|RETURNING|SELECT) ")
_AS_IT_IS: Any = {"break_long_words": False, "break_on_hyphens": False}


def _readable(statement: CompilerElement, database: str) -> str:
    compiled = statement.compile(dialect=READABLE[database])
    constants = {name: value for name, value in compiled.params.items() if value is not None}

    def shown(found: re.Match[str]) -> str:
        name = found["sqlite"] or found["postgres"]
        return repr(constants[name]) if name in constants else found[0]

    return re.sub(r"(?<!:):(?P<sqlite>\w+)|%\((?P<postgres>\w+)\)s(::[A-Z]+)?", shown, str(compiled))


def path(database: str) -> Path:
    return DIRECTORY / f"{database}.sql"


if __name__ == "__main__":
    for kind in MODULES:
        path(kind).write_text(golden(kind))
