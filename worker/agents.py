"""Agents: named configurations from TOML. What a run is given is a plain dict without keys, stored by its hash."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from tools.environment import variable
from worker.core.errors import UserError
from worker.core.given import shown
from worker.core.records import JsonObject
from worker.dialects import UnknownDialect, dialect
from worker.given import UNKNOWN_NAME, Given
from worker.llm.address import parse_address
from worker.llm.endpoint import OPENAI_BASE_URL, EndpointSettings
from worker.settings import Settings

PRACTICE_MODEL = "practice"
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
BUILT_IN = Path(__file__).with_name("agents.toml")
DEFAULT_AGENT = "assistant"


MOST_TOKENS = 1_000_000_000
LONGEST_S = 366 * 86_400.0
"""Numbers that a configuration may hold; they are added to moments and multiplied with prices."""


class ExampleCall(Given):
    """A tool call of a few-shot example."""

    model_config = ConfigDict(frozen=True)
    tool: str
    args: JsonObject = Field(default_factory=dict)
    observation: str
    thought: str = ""


class FewShot(Given):
    """A few-shot example in its neutral form; the dialect writes it."""

    model_config = ConfigDict(frozen=True)
    question: str
    calls: tuple[ExampleCall, ...] = ()
    answer: str
    thought: str = ""


class EndpointLimits(Given):
    """What the whole fleet may do at an endpoint and model; absent: no limit."""

    model_config = ConfigDict(frozen=True)
    requests_per_min: int | None = Field(None, ge=1, le=MOST_TOKENS)
    tokens_per_min: int | None = Field(None, ge=1, le=MOST_TOKENS)
    concurrent: int | None = Field(None, ge=1, le=MOST_TOKENS)


class ModelSettings(Given):
    """How to reach an agent's model. `api_key_env` names the variable that holds the key."""

    model_config = ConfigDict(frozen=True)
    model: str = ""
    base_url: str = Field("", repr=False)
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float | None = Field(0.0, ge=0, le=2)
    send_stop: bool = True
    max_output_tokens: int = Field(4096, ge=1, le=MOST_TOKENS)
    context_window: int | None = Field(None, ge=256, le=MOST_TOKENS)
    call_time_limit_s: float = Field(300.0, gt=0, le=LONGEST_S)
    reasoning_effort: str | None = None
    extra_body: JsonObject = Field(default_factory=dict)
    limits: EndpointLimits | None = None


class Agent(ModelSettings):
    """A named configuration. The time limit is a run's, from its admission, in seconds."""

    name: str
    dialect: str = "react_json"
    tools: tuple[str, ...] = ()
    instructions: str = ""
    examples: tuple[FewShot, ...] = ()
    max_output_tokens_ceiling: int | None = Field(None, ge=1, le=MOST_TOKENS)
    """To how much `max_output_tokens` is raised, once a run, when thinking used it up; None: to twice as much."""
    max_steps: int = Field(10, ge=1, le=1000)
    max_malformed: int = Field(3, ge=1, le=100)
    max_model_failures: int = Field(8, ge=1, le=1000)
    time_limit_s: float | None = Field(None, gt=0, le=LONGEST_S)
    max_observation_chars: int = Field(8_000, ge=100, le=MOST_TOKENS)
    approve: tuple[str, ...] = ()
    """Tools whose calls wait until a person approves them."""
    plain_answers: bool = False
    """Whether prose without any label counts as an answer."""


class Agents:
    """All agents of this installation, and how a question's options become a configuration."""

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
    ) -> JsonObject:
        """What a run with these options will run with. Raises `UserError` naming the wrong value."""
        base = self.get(agent or DEFAULT_AGENT).model_dump(mode="json")
        base |= {k: v for k, v in {"dialect": dialect, "max_steps": max_steps}.items() if v is not None}
        if model:
            base["model"] = model
        checked = _agent(base["name"], base, "the options").model_dump(mode="json")
        _check_names(checked)
        checked["simulated"] = self._fill_endpoint(checked)
        return checked

    def _fill_endpoint(self, body: JsonObject) -> bool:
        """Fills in model and address; returns whether it is the practice model that will answer."""
        settings = self._settings
        if not body["model"] and settings.model:
            body["model"] = settings.model
        if not body["model"] or body["model"] == PRACTICE_MODEL:
            body |= {"model": PRACTICE_MODEL, "base_url": PRACTICE_MODEL, "api_key_env": ""}
            return True
        written, where = body["base_url"], f"base_url of agent {body['name']!r}"
        if not written:
            written, where = variable(BASE_URL_VARIABLE) or OPENAI_BASE_URL, BASE_URL_VARIABLE
        try:
            body["base_url"] = parse_address(written).url
        except ValueError as error:
            raise UserError(f"{where}: {error}.") from None
        return False


def endpoint_of(body: Mapping[str, Any], practice_url: str) -> EndpointSettings:
    """The endpoint of a stored configuration. The practice model's address is not stored: it moves with the stack."""
    values = {name: body[name] for name in ModelSettings.model_fields if name in body}
    if values.get("base_url") == PRACTICE_MODEL:
        if not practice_url:
            message = "This run is for the practice model, which is not running here."
            raise UserError(message, "Start the stack with `stepmill up`, or set STEPMILL_PRACTICE_URL.", exit_code=3)
        values["base_url"] = practice_url
    return EndpointSettings.from_settings(values)


def load_agents(settings: Settings) -> Agents:
    """The built-in agents and those of the user's file. Raises `UserError` that names file, agent and setting."""
    tables = _read(BUILT_IN)
    if settings.agents_file is not None:
        for name, table in _read(settings.agents_file).items():
            tables[name] = {**tables.get(name, {}), **table}
    return Agents({name: _agent(name, table, f"agent {name!r}") for name, table in tables.items()}, settings)


def written_addresses(settings: Settings) -> list[str]:
    """The base URLs as this machine's settings write them, logins included, which no configuration holds."""
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
            # Its value is neither quoted nor chained: it may be a key that stands where none belongs.
            name, meant = first["ctx"]["name"], first["ctx"]["meant"]
            setting = ".".join(str(part) for part in (*first["loc"], name))
            hint = "A key goes into a variable of the environment or of .env; api_key_env names the variable."
            instead = f"; did you mean {meant!r}?" if meant else "."
            raise UserError(f"{where}: there is no setting {setting}{instead}", hint if "key" in name else "") from None
        raise UserError(f"{where}: {setting} is {shown(first['input'])}: {first['msg']}.") from error
    except TypeError as error:
        raise UserError(f"{where} must be a table of settings.") from error


def _check_names(body: Mapping[str, Any]) -> None:
    try:
        dialect(body["dialect"])
    except UnknownDialect as error:
        raise UserError(str(error)) from error
