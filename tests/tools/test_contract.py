"""The contract of every tool, built-in or a user's: one suite over all of them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.tools.web_server import ARTICLE, WebServer
from tools.base import BadArguments, Tool, ToolContext, ToolError, ToolFailure, tool
from tools.registry import load_tools

SECRET = "sk-contract-suite-secret"


@tool(group="mine", idempotent=True)
def users_sync(text: str, times: int = 1) -> list[dict[str, Any]]:
    """A user's own, synchronous, returning a table."""
    return [{"text": text, "n": n} for n in range(times)]


@tool(group="mine")
async def users_async(text: str, context: ToolContext) -> str:
    """A user's own, asynchronous, and slow."""
    await asyncio.sleep(60 if text == "slow" else 0.05)
    return text + SECRET


class Wanted(BaseModel):
    """What is wanted."""

    city: str
    days: int = 1


@tool
def users_model(wanted: Wanted) -> dict[str, Any]:
    """A user's own, taking a model and returning JSON."""
    return {"city": wanted.city, "days": wanted.days}


TOOLS: dict[str, Tool] = load_tools().tools | {own.name: own for own in (users_sync, users_async, users_model)}

GOOD: dict[str, dict[str, Any]] = {
    "calculator": {"expression": "1 + 1"},
    "current_time": {},
    "convert_time": {"time": "15:00", "from_timezone": "UTC", "to_timezone": "Asia/Tokyo"},
    "date_add": {"days": 1},
    "count_characters": {"text": "abc"},
    "get_weather": {"city": "Beijing"},
    "get_attraction": {"city": "Beijing", "weather": "sunny"},
    "web_search": {"query": "acme"},
    "fetch_url": {"url": "{web}/acme"},
    "python_executor": {"code": "6 * 7"},
    "sql_query": {"query": "SELECT 1 AS one"},
    "read_file": {"path": "a.txt"},
    "list_files": {},
    "note": {"text": "remember"},
    "recall": {},
    "ask_person": {"question": "Which colour?"},
    "users_sync": {"text": "x"},
    "users_async": {"text": "quick"},
    "users_model": {"city": "Oslo"},
}
SLOW: dict[str, dict[str, Any]] = {
    "web_search": {"query": "acme"},
    "fetch_url": {"url": "{web}/drip"},
    "get_weather": {"city": "Beijing"},
    "python_executor": {"code": "while True: pass"},
    "sql_query": {"query": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"},
    "users_async": {"text": "slow"},
}
"""Every tool that can wait for something, at its slowest."""


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A web server that answers well, a database and a directory, as settings."""
    directory = tmp_path_factory.mktemp("contract")
    (directory / "a.txt").write_text("text\n")
    with closing(sqlite3.connect(directory / "data.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
    with WebServer() as web:
        web.text("/acme", ARTICLE)
        web.json("/search", {"results": [{"title": "t", "url": "https://x.example", "content": "c"}]})
        web.json("/geocoding", {"results": [{"name": "Beijing", "latitude": 39.9, "longitude": 116.4}]})
        web.json("/forecast", {"current": {"temperature_2m": 3, "weather_code": 0, "time": "2026-11-30T09:00"}})
        yield {
            "web": web.url,
            "STEPMILL_FETCH_ALLOW_HOSTS": "127.0.0.1",
            "STEPMILL_SEARXNG_URL": web.url,
            "STEPMILL_GEOCODING_URL": f"{web.url}/geocoding",
            "STEPMILL_WEATHER_URL": f"{web.url}/forecast",
            "STEPMILL_SQL_DATA": str(directory / "data.db"),
            "STEPMILL_FILES_DIRS": str(directory),
        }


def filled(args: dict[str, Any], web: str) -> dict[str, Any]:
    return {name: value.replace("{web}", web) if isinstance(value, str) else value for name, value in args.items()}


def test_every_tool_has_a_sample_here() -> None:
    assert TOOLS.keys() == GOOD.keys()
    assert SLOW.keys() <= TOOLS.keys()


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_describes_itself_and_its_arguments(name: str) -> None:
    made = TOOLS[name]
    assert 10 < len(made.description) < 1200
    assert made.parameters["type"] == "object"
    assert set(made.parameters["required"]) <= made.parameters["properties"].keys()
    assert json.loads(json.dumps(made.parameters)) == made.parameters
    assert made.text_parameter in {None, *made.parameters["properties"]}
    assert (made.queue, made.task_name) == (f"tools.{made.group}", f"tools.{name}")
    assert made.origin.count(":") == 1
    if not name.startswith("users_"):
        undescribed = [
            part for part in made.parameters["required"] if "description" not in made.parameters["properties"][part]
        ]
        assert undescribed == []


def test_text_parameters_are_those_that_models_write_plainly() -> None:
    assert {name: TOOLS[name].text_parameter for name in GOOD if TOOLS[name].text_parameter} == {
        "calculator": "expression",
        "current_time": "timezone",
        "count_characters": "text",
        "get_weather": "city",
        "web_search": "query",
        "fetch_url": "url",
        "python_executor": "code",
        "sql_query": "query",
        "read_file": "path",
        "list_files": "path",
        "note": "text",
        "recall": "name",
        "ask_person": "question",
        "users_sync": "text",
        "users_async": "text",
        "users_model": "city",
    }
    assert [name for name in TOOLS if TOOLS[name].code_language] == ["python_executor"]


@pytest.mark.parametrize("name", TOOLS)
def test_a_good_call_gives_text_within_bounds_without_secrets(
    name: str, surroundings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTRACT_API_KEY", SECRET)
    made = TOOLS[name]
    args = made.validate(filled(GOOD[name], surroundings["web"]))
    assert made.validate(args) == args
    result = made.call(args, ToolContext(settings=surroundings, deadline=time.monotonic() + 30))
    assert result.observation.strip()
    assert len(result.observation) <= made.max_observation_chars + 300
    assert SECRET not in result.observation


@pytest.mark.parametrize("name", TOOLS)
def test_bad_arguments_are_refused_before_anything_runs(name: str) -> None:
    made = TOOLS[name]
    wrong: list[Any] = [
        {**GOOD[name], "no_such_argument": 1},
        {part: [{}] for part in made.parameters["properties"]},
        [1],
        7,
    ]
    wrong += [{}] if made.parameters["required"] else []
    for args in wrong:
        with pytest.raises(BadArguments, match=r"Allowed arguments: ") as caught:
            made.validate(args)
        assert caught.value.message.startswith(f"{name}: ")
        assert not caught.value.retryable
        with pytest.raises(BadArguments):
            made.call(args)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("name", TOOLS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_arguments_make_the_check_raise_anything_else(name: str, data: st.DataObject) -> None:
    made = TOOLS[name]
    known = st.sampled_from([*made.parameters["properties"], "other"])
    args = data.draw(st.dictionaries(known, JSON, max_size=4) | st.text(max_size=50))
    try:
        checked = made.validate(args)
    except BadArguments as error:
        said, checked = error.message, {}
    else:
        said = f"{name}: accepted" if made.validate(checked) == checked else "changed by a second check"
    assert said.startswith(f"{name}: "), checked


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("text", ["x" * 1_000_000, "\x00", "\ud800", "🙂" * 1000, "' OR 1=1 --", "../../etc/passwd"])
def test_huge_and_strange_texts_end_in_time(name: str, text: str, surroundings: dict[str, Any]) -> None:
    made = TOOLS[name]
    strings = [part for part, about in made.parameters["properties"].items() if about.get("type") == "string"]
    args = {**GOOD[name], **({strings[0]: text} if strings else {})}
    started = time.monotonic()
    try:
        said = made.call(args, ToolContext(settings=surroundings, deadline=started + 5)).observation
    except ToolFailure as failure:
        said = failure.message
    assert len(said) <= made.max_observation_chars + 300
    assert said.encode("utf-8", "strict") is not None
    assert time.monotonic() - started < 9


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_what_waits_ends_soon_after_its_time_and_after_a_cancel(
    name: str, how: str, surroundings: dict[str, Any]
) -> None:
    drip = f"{surroundings['web']}/drip"
    slow = surroundings | {"STEPMILL_SEARXNG_URL": drip, "STEPMILL_GEOCODING_URL": drip}
    cancelled = threading.Event()
    started = time.monotonic()
    deadline = started + (1.0 if how == "deadline" else 60.0)
    if how == "cancel":
        threading.Timer(0.5, cancelled.set).start()
    with pytest.raises(ToolError) as caught:
        TOOLS[name].call(
            filled(SLOW[name], surroundings["web"]),
            ToolContext(settings=slow, deadline=deadline, cancelled=cancelled.is_set),
        )
    assert ("cancelled" if how == "cancel" else "") in caught.value.message
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("name", TOOLS)
def test_a_call_that_is_cancelled_before_it_begins_ends_at_once(name: str, surroundings: dict[str, Any]) -> None:
    started = time.monotonic()
    context = ToolContext(settings=surroundings, cancelled=lambda: True, deadline=started)
    try:
        said = TOOLS[name].call(filled(GOOD[name], surroundings["web"]), context).observation
    except ToolError as error:
        said = error.message
    assert said
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("name", TOOLS)
def test_without_any_settings_a_tool_works_or_says_what_the_operator_must_do(name: str, tmp_path: Path) -> None:
    offline = {"STEPMILL_WEATHER_OFFLINE": "1"}
    if name == "fetch_url":
        pytest.skip("it needs no settings, but the outside world")
    try:
        said = TOOLS[name].call(GOOD[name], ToolContext(settings=offline)).observation
    except ToolError as error:
        said = error.message if "STEPMILL_" in error.message else ""
    assert said
