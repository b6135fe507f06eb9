"""Queries are answered; anything that would change a database is refused by the database itself."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.services.postgres import PostgresServer
from tests.tools.escapes import POSTGRES_ESCAPES, SQLITE_ESCAPES
from tools.base import ToolContext, ToolError
from tools.sql_query import sql_query

TABLE = "CREATE TABLE sales (id int, city text, amount int)"
ROWS = "INSERT INTO sales VALUES (1, 'Oslo', 10), (2, 'Rome', 20), (3, 'Rome', 5)"
PASSWORD = "reading-only-password"
RINGS = "'BEGIN PERFORM pg_advisory_lock(7); RETURN 1; END'"
"""The body of a function with an effect that no transaction undoes."""


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    for name in ("sales.db", "other.db"):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            connection.execute(TABLE)
            connection.execute(ROWS)
            connection.commit()
    return tmp_path / "sales.db"


@pytest.fixture(scope="module")
def postgres(postgres_server: PostgresServer) -> Iterator[dict[str, str]]:
    """The owner's address, and that of a role that may read `sales` and call a function that writes."""
    address = postgres_server.create_database()
    with psycopg.connect(address, autocommit=True) as owner:
        for statement in (
            TABLE,
            ROWS,
            "CREATE TABLE private (x int)",
            "CREATE SEQUENCE counter",
            "CREATE FUNCTION wipe() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM sales; SELECT 1'",
            "CREATE FUNCTION \"do it\"() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE FUNCTION vat(amount int) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT amount * 0.2'",
            f"CREATE FUNCTION bell(int, int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS {RINGS}",
            f"CREATE FUNCTION ring(sales) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS {RINGS}",
            "CREATE OPERATOR === (leftarg = int, rightarg = int, function = bell)",
            "CREATE TYPE chime AS (tone int)",
            f"CREATE FUNCTION bell(chime, int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS {RINGS}",
            "CREATE OPERATOR + (leftarg = chime, rightarg = int, function = bell)",
            "CREATE AGGREGATE ring_all(int) (sfunc = bell, stype = int, initcond = '0')",
            "CREATE FUNCTION chime(int) RETURNS chime LANGUAGE plpgsql AS 'BEGIN PERFORM bell(1, 1); RETURN NULL; END'",
            "CREATE CAST (int AS chime) WITH FUNCTION chime(int)",
            "CREATE PROCEDURE wipe_all() LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM sales'",
            f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
            "GRANT SELECT ON sales TO reader",
            "GRANT ALL ON SEQUENCE counter TO reader",
        ):
            owner.execute(statement.encode())
        info = owner.info
        reading = f"postgresql://reader:{PASSWORD}@/{info.dbname}?host={info.host}&port={info.port}"
        yield {"owner": address, "reader": reading}
        owner.execute(b"DROP OWNED BY reader")
        owner.execute(b"DROP ROLE reader")
    postgres_server.drop_database(address)


def ask(query: str, address: object, time_s: float = 30.0, **args: object) -> str:
    context = ToolContext(settings={"STEPMILL_SQL_SALES": str(address)}, deadline=time.monotonic() + time_s)
    return sql_query.call({"query": query, **args}, context).observation


def test_rows_come_back_as_a_table_from_sqlite(sqlite_file: Path) -> None:
    said = ask("SELECT city, sum(amount) AS total FROM sales GROUP BY city ORDER BY city;", f"sqlite:///{sqlite_file}")
    assert said == "| city | total |\n| --- | --- |\n| Oslo | 10 |\n| Rome | 25 |"
    assert ask("SELECT 1 AS a, 2 AS a", sqlite_file).splitlines()[0] == "| a | a |"


def test_rows_come_back_as_a_table_from_postgresql(postgres: dict[str, str]) -> None:
    said = ask("SELECT city, sum(amount) AS total FROM sales GROUP BY city ORDER BY city;", postgres["reader"])
    assert said == "| city | total |\n| --- | --- |\n| Oslo | 10 |\n| Rome | 25 |"
    said = ask("SELECT now()::date - now()::date AS d, 1.50 AS n, NULL AS z, 'a%b' LIKE '%' AS t", postgres["reader"])
    assert said.splitlines()[2] == "| 0 | 1.50 |  | true |"


@pytest.mark.parametrize("word", ["schema", "Tables;", ""])
def test_tables_and_columns_are_listed(word: str, sqlite_file: Path, postgres: dict[str, str]) -> None:
    assert "| sales | id INT, city TEXT, amount INT |" in ask(word, sqlite_file)
    assert "| public.sales | id integer, city text, amount integer |" in ask(word, postgres["reader"])
    assert "private" not in ask(word, postgres["reader"])


def test_rows_are_bounded_and_the_rest_is_told(sqlite_file: Path, postgres: dict[str, str]) -> None:
    for address in (sqlite_file, postgres["reader"]):
        said = ask("SELECT id FROM sales ORDER BY id", address, max_rows=2)
        assert said.splitlines()[2:] == [
            "| 1 |",
            "| 2 |",
            "(The first 2 rows; there are more. Use LIMIT and OFFSET, WHERE, or count(*) in sales.)",
        ]
        assert ask("SELECT id FROM sales WHERE id > 9", address) == "No rows. (Columns: id)"


def test_a_wrong_query_says_what_to_do(sqlite_file: Path, postgres: dict[str, str]) -> None:
    for address in (sqlite_file, postgres["reader"]):
        with pytest.raises(ToolError, match=r'nowhere.*Write "schema" as the query'):
            ask("SELECT * FROM nowhere", address)


def test_the_database_is_named_where_there_are_several(sqlite_file: Path) -> None:
    settings = {"STEPMILL_SQL_A": str(sqlite_file), "STEPMILL_SQL_B": str(sqlite_file)}
    context = ToolContext(settings=settings)
    with pytest.raises(ToolError, match=r"Say which database\. There are: a, b\."):
        sql_query.call({"query": "schema"}, context)
    with pytest.raises(ToolError, match='There is no database "c"'):
        sql_query.call({"query": "schema", "database": "c"}, context)
    assert "sales" in sql_query.call({"query": "schema", "database": "B"}, context).observation


def test_a_database_that_is_away_is_told_without_its_address(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="does not exist on this worker") as missing:
        ask("SELECT 1", tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(ToolError, match="cannot be reached") as away:
        ask("SELECT 1", "postgresql://u:secret-password@127.0.0.1:1/x")
    assert away.value.retryable
    assert "secret-password" not in missing.value.message + away.value.message
    with pytest.raises(ToolError, match="No database is set up"):
        sql_query.call({"query": "SELECT 1"}, ToolContext(settings={}))
    with pytest.raises(ToolError, match="kind that is not known"):
        ask("SELECT 1", "mysql://x/y")


def test_a_superuser_is_refused(postgres: dict[str, str]) -> None:
    with pytest.raises(ToolError, match="superuser"):
        ask("SELECT 1", postgres["owner"])


@pytest.mark.parametrize(
    "power", ["GRANT pg_signal_backend TO reader", "GRANT chief TO reader", "ALTER ROLE reader CREATEROLE"]
)
def test_a_role_that_can_take_powers_is_refused(power: str, postgres: dict[str, str]) -> None:
    with psycopg.connect(postgres["owner"], autocommit=True) as owner:
        owner.execute(b"CREATE ROLE chief SUPERUSER")
        owner.execute(power.encode())
        try:
            with pytest.raises(ToolError, match="may only read"):
                ask("SELECT 1", postgres["reader"])
        finally:
            owner.execute(b"REVOKE pg_signal_backend FROM reader; ALTER ROLE reader NOCREATEROLE; DROP ROLE chief")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*), round(avg(amount), 1) FROM sales WHERE city IN ('Oslo', 'Rome')",
        "SELECT vat(amount) FROM sales",
        "SELECT greatest(max(id), 0), extract(day FROM now()), pg_size_pretty(pg_relation_size('sales')) FROM sales",
        "SELECT row_number() OVER (ORDER BY id), random() < 2 FROM sales",
        "SELECT city FROM sales -- a remark (with parentheses)\nGROUP BY city",
        "SELECT to_char(now(), 'YYYY'), string_agg(city, ',' ORDER BY id) FILTER (WHERE id > 1) FROM sales",
        "SELECT x FROM generate_series(1, 3) AS x(x), LATERAL (VALUES (1)) AS v(y)",
        "SELECT s.id + 1, s.*, city || '=' FROM sales AS s TABLESAMPLE BERNOULLI (100) WHERE s.amount::text ~ '1'",
        "SELECT ring FROM (SELECT 1 AS ring) AS x",
    ],
)
def test_functions_that_read_may_be_called(query: str, postgres: dict[str, str]) -> None:
    assert ask(query, postgres["reader"]).startswith("|")


def test_a_refused_function_is_named_with_the_remedy(postgres: dict[str, str]) -> None:
    with pytest.raises(ToolError, match=r"calls pg_notify, which may have effects.*STABLE"):
        ask("SELECT pg_notify('a', 'b')", postgres["reader"])


def test_sorting_leaves_no_file_behind(sqlite_file: Path) -> None:
    query = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 90000) "
    with pytest.raises(ToolError, match="needs more than 256 MB to sort"):
        ask(query + "SELECT hex(randomblob(5000)) AS h FROM n ORDER BY h", sqlite_file)


@pytest.mark.parametrize("escape", SQLITE_ESCAPES)
def test_sqlite_holds(escape: str, sqlite_file: Path) -> None:
    before = sqlite_file.read_bytes()
    started = time.monotonic()
    with pytest.raises(ToolError):
        ask(SQLITE_ESCAPES[escape].format(directory=sqlite_file.parent), sqlite_file, time_s=3)
    assert time.monotonic() - started < 10
    assert sqlite_file.read_bytes() == before
    assert sorted(path.name for path in sqlite_file.parent.iterdir()) == ["other.db", "sales.db"]


@pytest.mark.parametrize("escape", POSTGRES_ESCAPES)
def test_postgresql_holds(escape: str, postgres: dict[str, str]) -> None:
    started = time.monotonic()
    with pytest.raises(ToolError):
        ask(POSTGRES_ESCAPES[escape], postgres["reader"], time_s=3)
    assert time.monotonic() - started < 10
    with psycopg.connect(postgres["owner"]) as owner:
        assert owner.execute("SELECT count(*), (SELECT is_called FROM counter) FROM sales").fetchone() == (3, False)
        assert owner.execute("SELECT to_regclass('owned')").fetchone() == (None,)
