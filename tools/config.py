"""Settings of the tools, read from the environment when a tool needs them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.environment import environment

NAMES = (
    "STEPMILL_SEARXNG_URL",
    "STEPMILL_WEATHER_URL",
    "STEPMILL_GEOCODING_URL",
    "STEPMILL_WEATHER_OFFLINE",
    "STEPMILL_FILES_DIRS",
    "STEPMILL_FETCH_ALLOW_HOSTS",
    "STEPMILL_PYTHON_ISOLATION",
    "STEPMILL_PRACTICE_URL",
)
SQL_PREFIX = "STEPMILL_SQL_"
OWN_PREFIX = "STEPMILL_TOOL_"
"""Prefix of settings for a user's own tools. `STEPMILL_TOOL_MODULES` is the worker's and is not one of them."""

DEFAULT_WEATHER_URL = "https://api.open-meteo.com/v1/forecast"
DEFAULT_GEOCODING_URL = "https://geocoding-api.open-meteo.com/v1/search"


def environment_settings() -> dict[str, str]:
    """Returns the settings that concern tools, and no others."""
    return {name: value for name, value in environment().items() if _concerns_tools(name)}


def _concerns_tools(name: str) -> bool:
    if name in NAMES or name.startswith(SQL_PREFIX):
        return True
    return name.startswith(OWN_PREFIX) and name != "STEPMILL_TOOL_MODULES"


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The parsed settings. `sql_databases` maps a lower-case name to its address."""

    searxng_url: str | None
    weather_url: str
    geocoding_url: str
    weather_offline: bool
    sql_databases: Mapping[str, str]
    files_dirs: tuple[Path, ...]
    fetch_allow_hosts: frozenset[str]
    python_isolation: str | None

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> ToolSettings:
        """Reads a context's `settings`; an empty value counts as not set."""

        def text(name: str) -> str | None:
            return settings.get(name, "").strip() or None

        return cls(
            searxng_url=text("STEPMILL_SEARXNG_URL"),
            weather_url=text("STEPMILL_WEATHER_URL") or DEFAULT_WEATHER_URL,
            geocoding_url=text("STEPMILL_GEOCODING_URL") or DEFAULT_GEOCODING_URL,
            weather_offline=_is_on(text("STEPMILL_WEATHER_OFFLINE") or text("STEPMILL_PRACTICE_URL") or ""),
            sql_databases=_sql_databases(settings),
            files_dirs=tuple(Path(part) for part in (text("STEPMILL_FILES_DIRS") or "").split(os.pathsep) if part),
            fetch_allow_hosts=frozenset(_hosts(text("STEPMILL_FETCH_ALLOW_HOSTS") or "")),
            python_isolation=text("STEPMILL_PYTHON_ISOLATION"),
        )


def _is_on(value: str) -> bool:
    """Whether the switch is on; a practice model's address also turns it on."""
    return value.lower() in {"1", "true", "yes", "on"} or "://" in value


def _sql_databases(settings: Mapping[str, str]) -> dict[str, str]:
    found = {name: value.strip() for name, value in settings.items() if name.startswith(SQL_PREFIX) and value.strip()}
    return {name.removeprefix(SQL_PREFIX).lower(): found[name] for name in sorted(found)}


def _hosts(text: str) -> list[str]:
    return [host.strip().lower() for host in text.replace(",", " ").split() if host.strip()]
