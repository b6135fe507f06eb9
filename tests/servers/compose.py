"""docker-compose.yml as tests see it: merged and with its variables filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE_FILE = ROOT / "docker-compose.yml"
ENV_EXAMPLE = ROOT / ".env.example"

Service = dict[str, Any]

FILLED_IN = {
    "POSTGRES_PASSWORD": "pg-password-1",
    "REDIS_PASSWORD": "redis-password-2",
    "STEPMILL_ADMIN_KEY": "admin-key-3",
    "FLOWER_LOGIN": "operator:flower-password-4",
    "SEARXNG_SECRET": "searxng-secret-5",
}
"""What an operator must write into a copy of .env.example."""

_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}")


def env_example() -> dict[str, str]:
    """The variables that .env.example sets."""
    lines = [line for line in ENV_EXAMPLE.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def environment() -> dict[str, str]:
    """A copy of .env.example, filled in."""
    return env_example() | FILLED_IN


def raw() -> dict[str, Any]:
    """The file as it is written, with its anchors merged."""
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text())
    return loaded


def services(variables: Mapping[str, str] | None = None) -> dict[str, Service]:
    """Every service by name, its variables replaced. Raises `KeyError` for a needed variable that is empty."""
    filled: dict[str, Service] = _filled(raw()["services"], environment() if variables is None else variables)
    return filled


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, variables) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, variables) for inner in value]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _value(found, variables), value)
    return value


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    if found[0] == "$$":
        return "$"
    name, sign, rest = found.groups()
    value = variables.get(name, "")
    if value or sign is None:
        return value
    if sign == "?":
        raise KeyError(name)
    return str(rest)


def variables_of(service: Service, given: Mapping[str, str]) -> dict[str, str]:
    """A container's environment: a variable without a value comes from `given`, and is absent where that lacks it."""
    declared: dict[str, str | None] = service.get("environment") or {}
    found = {name: given.get(name) if value is None else str(value) for name, value in declared.items()}
    return {name: value for name, value in found.items() if value is not None}


def seconds(duration: str) -> float:
    """`90s` or `2m` as a number."""
    return float(duration[:-1]) * {"s": 1.0, "m": 60.0}[duration[-1]]


def is_ours(service: Service) -> bool:
    """Whether it runs the image that the Dockerfile makes."""
    return str(service["image"]).startswith("stepmill:")


def is_worker(service: Service) -> bool:
    return bool(service["command"][:2] == ["stepmill", "worker"]) if "command" in service else False
