"""The tables of docs agree with the code."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
from fastapi import FastAPI

from api import routes
from tests.docs.pages import DOCS, ROOT, first_cells
from tools.base import Tool, tool
from tools.config import NAMES, OWN_PREFIX, SQL_PREFIX
from tools.registry import load_tools
from worker.core import errors
from worker.core.config import Agent
from worker.core.errors import ErrorCode, StepmillError
from worker.core.retry import MAX_FAILURES
from worker.dialects import DIALECTS
from worker.llm.keys import KEYS_DIR_VARIABLE
from worker.settings import Settings


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading, by their first cell."""
    section = (DOCS / page).read_text().partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    cells = [[part.strip() for part in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {first.strip("`"): rest for first, *rest in cells[2:]}


def written(value: object) -> str:
    """A default as the tables write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if str(value) and value != () else "empty"


def test_every_setting_is_told_with_its_default() -> None:
    told = {name: rest[0] for name, rest in rows("settings.md", "## The engine").items()}
    real = {f"STEPMILL_{name.upper()}": written(field.default) for name, field in Settings.model_fields.items()}
    assert told == real


def test_every_setting_of_tools_and_keys_is_told() -> None:
    told = set(first_cells(DOCS / "settings.md", "## Tools"))
    internal = {"STEPMILL_PRACTICE_URL"}
    assert told == set(NAMES) - internal | {f"{SQL_PREFIX}<NAME>", f"{OWN_PREFIX}<ANYTHING>"}
    assert KEYS_DIR_VARIABLE in first_cells(DOCS / "settings.md", "## Model endpoints")


def test_the_example_of_an_env_file_sets_only_what_there_is() -> None:
    text = (ROOT / ".env.example").read_text()
    compose = (ROOT / "docker-compose.yml").read_text()
    for name in re.findall(r"^(?:# )?([A-Z_]+)=", text, re.MULTILINE):
        assert re.search(rf"\b{name}\b", compose), f"{name} is in .env.example and nobody reads it"


def test_every_setting_of_an_agent_is_told_with_its_default() -> None:
    told = {name: rest[0] for name, rest in rows("agents.md", "## Every setting").items()}
    assert set(told) == set(Agent.model_fields)
    for name, field in Agent.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if name != "name":
            assert told[name] == ("[]" if default == () else written(default)), name


def test_every_dialect_is_told() -> None:
    assert set(rows("agents.md", "## Dialects")) == set(DIALECTS)


def test_every_error_class_has_a_row() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, StepmillError) and value is not StepmillError
    }
    assert set(rows("errors.md", "## Everything that can be raised")) == classes


@pytest.mark.parametrize("error", [kind for kind, most in MAX_FAILURES.items() if most is not None])
def test_how_often_a_call_is_tried_is_told(error: type[StepmillError]) -> None:
    told = " ".join(rows("errors.md", "## Everything that can be raised")[error.__name__])
    assert f"at most {MAX_FAILURES[error]} times" in told  # type: ignore[index]


def test_every_error_code_has_a_row() -> None:
    assert list(rows("errors.md", "## Error codes of a failed run")) == [code.value for code in ErrorCode]


def test_every_built_in_tool_is_told_with_its_group() -> None:
    told = {
        name.strip(" `"): rest[0]
        for names, rest in rows("tools.md", "## Built in").items()
        for name in names.split(",")
    }
    assert told == {one.name: one.group for one in load_tools().tools.values()}


def test_every_option_of_a_tool_is_told_with_its_default() -> None:
    @tool
    def probe(text: str) -> str:
        """Nothing."""
        return text

    assert isinstance(probe, Tool)
    told = {name: rest[0].strip("`") for name, rest in rows("tools.md", "## Options").items() if name != "name"}
    assert told == {name: written(getattr(probe, name)) for name in told}
    assert set(told) >= {"group", "timeout_s", "max_attempts", "idempotent", "max_observation_chars"}


def test_every_call_of_the_api_is_told() -> None:
    modules = [importlib.import_module(f"api.routes.{found.name}") for found in pkgutil.iter_modules(routes.__path__)]
    api = FastAPI()
    for module in modules:
        api.include_router(module.router)
    real = {f"{verb.upper()} {path}" for path, verbs in api.openapi()["paths"].items() for verb in verbs}
    assert set(first_cells(DOCS / "api.md", "## Calls")) == real


def test_the_takeover_time_is_the_sum_of_the_settings() -> None:
    text = (DOCS / "guarantees.md").read_text()
    defaults = Settings.model_construct()
    total = f"**{defaults.takeover_s:g} s**"
    terms = f"{defaults.beat_s:g} + ({defaults.dead_after_ticks} + 2) × {defaults.tick_s:g}"
    assert f"{terms} = {total}" in text


@pytest.mark.parametrize("reference", re.findall(r"`(tests/\S+::\w+)`", (DOCS / "guarantees.md").read_text()))
def test_what_shows_a_guarantee_exists(reference: str) -> None:
    path, _, name = reference.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE), reference
