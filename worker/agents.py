"""Agents: named configurations from TOML, and how they become the configuration of a run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tools.environment import variable
from worker.core.config import Agent, RunConfig
from worker.core.errors import UserError
from worker.core.given import UNKNOWN_NAME, shown
from worker.core.records import JsonObject
from worker.dialects import UnknownDialect, dialect
from worker.llm.address import parse_address
from worker.llm.endpoint import OPENAI_BASE_URL, EndpointSettings
from worker.settings import Settings

PRACTICE_MODEL = "practice"
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
BUILT_IN = Path(__file__).with_name("agents.toml")
DEFAULT_AGENT = "assistant"


class Agents:
    """All agents of this installation; turns a question's options into a configuration."""

    def __init__(self, agents: Mapping[str, Agent], settings: Settings) -> None:
        self.agents = dict(agents)
        self._settings = settings

    def get(self, name: str) -> Agent:
        if name not in self.agents:
            raise UserError(f"There is no agent {name!r}.", f"Known agents: {', '.join(sorted(self.agents))}.")
        return self.agents[name]

    def configuration(
        self,
        agent: str | None = None,
        *,
        model: str | None = None,
        dialect: str | None = None,
        max_steps: int | None = None,
    ) -> RunConfig:
        """Returns the configuration for a run with these options. Raises `UserError` naming the wrong value."""
        base = self.get(agent or DEFAULT_AGENT)
        options = {"model": model or None, "dialect": dialect, "max_steps": max_steps}
        given = {name: value for name, value in options.items() if value is not None}
        checked = _agent(base.name, {**base.model_dump(mode="json"), **given}, "the options")
        _check_dialect(checked)
        return RunConfig.model_validate({**checked.model_dump(), **self._endpoint(checked)})

    def _endpoint(self, agent: Agent) -> JsonObject:
        """Returns an agent's model and address, and whether the practice model will answer."""
        model = agent.model or self._settings.model
        if not model or model == PRACTICE_MODEL:
            return {"model": PRACTICE_MODEL, "base_url": PRACTICE_MODEL, "api_key_env": "", "simulated": True}
        written, where = agent.base_url, f"base_url of agent {agent.name!r}"
        if not written:
            written, where = variable(BASE_URL_VARIABLE) or OPENAI_BASE_URL, BASE_URL_VARIABLE
        try:
            return {"model": model, "base_url": parse_address(written).url, "simulated": False}
        except ValueError as error:
            raise UserError(f"{where}: {error}.") from None


def endpoint_of(config: RunConfig, practice_url: str) -> EndpointSettings:
    """Returns the endpoint of a configuration. The practice model's address is not stored, since stacks change it."""
    if config.base_url != PRACTICE_MODEL:
        return EndpointSettings.of(config, config.base_url)
    if not practice_url:
        message = "This run is for the practice model, which is not running here."
        raise UserError(message, "Start the stack with `stepmill up`, or set STEPMILL_PRACTICE_URL.", exit_code=3)
    return EndpointSettings.of(config, practice_url)


def load_agents(settings: Settings) -> Agents:
    """Loads the built-in agents and those of the user's file. Raises `UserError` naming file, agent and setting."""
    tables = _read(BUILT_IN)
    if settings.agents_file is not None:
        for name, table in _read(settings.agents_file).items():
            tables[name] = {**tables.get(name, {}), **table}
    return Agents({name: _agent(name, table, f"agent {name!r}") for name, table in tables.items()}, settings)


def written_addresses(settings: Settings) -> list[str]:
    """Returns the base URLs as written in this machine's settings, with logins, which configurations leave out."""
    written = [variable(BASE_URL_VARIABLE) or ""]
    return [url for url in [*written, *(agent.base_url for agent in load_agents(settings).agents.values())] if url]


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The agents file {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"The agents file {path} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise UserError(f"The agents file {path} is nested too deeply.") from error
    agents = content.get("agents", {})
    if not isinstance(agents, dict) or set(content) - {"agents"}:
        raise UserError(f"The agents file {path} must hold tables [agents.NAME] and nothing else.")
    return agents


def _agent(name: str, table: Mapping[str, Any], where: str) -> Agent:
    try:
        return Agent(**{"name": name, **table})
    except ValidationError as error:
        first = error.errors()[0]
        setting = ".".join(str(part) for part in first["loc"]) or "a setting"
        if first["type"] == UNKNOWN_NAME:
            # Its value is neither quoted nor chained: it may be a key written in the wrong place.
            name, meant = first["ctx"]["name"], first["ctx"]["meant"]
            setting = ".".join(str(part) for part in (*first["loc"], name))
            hint = "A key goes into a variable of the environment or of .env; api_key_env names the variable."
            instead = f"; did you mean {meant!r}?" if meant else "."
            raise UserError(f"{where}: there is no setting {setting}{instead}", hint if "key" in name else "") from None
        raise UserError(f"{where}: {setting} is {shown(first['input'])}: {first['msg']}.") from error
    except TypeError as error:
        raise UserError(f"{where} must be a table of settings.") from error


def _check_dialect(agent: Agent) -> None:
    try:
        dialect(agent.dialect)
    except UnknownDialect as error:
        raise UserError(str(error)) from error
