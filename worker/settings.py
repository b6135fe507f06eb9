"""All settings, read once from `STEPMILL_…` variables or an `.env` file, and immutable."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from tools.environment import environment

PREFIX = "STEPMILL_"


class _Variables(PydanticBaseSettingsSource):
    """Reads the variables with our prefix, in any case, from the same source as the rest of stepmill."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self()[field_name], field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {name.upper(): value for name, value in environment().items()}
        fields = {name: PREFIX + name.upper() for name in self.settings_cls.model_fields}
        return {field: found[name] for field, name in fields.items() if name in found}


class Settings(BaseSettings):
    """The settings of a process. Agents and their models are configured in `worker.agents`."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True)

    data_dir: Path = Path(".stepmill")
    database_url: str = Field("", repr=False)
    """If empty: SQLite in the data directory."""
    redis_url: str = Field("", repr=False)
    """If empty: the private Redis that `stepmill up` starts."""
    agents_file: Path | None = None
    tool_modules: Annotated[tuple[str, ...], NoDecode] = ()
    model: str = ""
    """If empty: practice mode, unless the agents file names models."""
    practice_url: str = ""
    """Address of the practice model; set by the embedded stack."""
    prices_file: Path | None = None
    api_url: str = Field("", repr=False)
    api_key: str = Field("", repr=False)
    admin_key: str = Field("", repr=False)
    flower_url: str = Field("", repr=False)
    """Flower's address, for the links that `run show` prints; not needed for a stack in this directory."""

    db_pool: int = Field(8, ge=1, le=200)
    """The most database connections per process."""
    hot_set: int = Field(0, ge=0, le=1_000_000)
    """Active runs with a slot; 0: four for each live think slot, at least 64."""
    interactive_reserve: int = Field(16, ge=1, le=1_000_000)
    """Admission slots that only interactive runs may use."""
    parked_per_batch: int = Field(100, ge=1, le=1_000_000)
    """Parked runs of one batch and reason after which the batch admits no more runs."""

    beat_s: float = Field(2.0, gt=0, le=3_600)
    """Seconds between a worker's heartbeats."""
    tick_s: float = Field(2.0, gt=0, le=3_600)
    """Seconds between the sweeper's ticks."""
    dead_after_ticks: int = Field(5, ge=2, le=10_000)
    """Consecutive successful ticks without a new heartbeat after which a worker is declared dead."""
    resend_after_s: float = Field(5.0, gt=0, le=86_400)
    """Seconds after which an unanswered work message may be sent again, if there is evidence that it was lost."""
    park_after_s: float = Field(15.0, gt=0, le=86_400)
    """Seconds without a worker for its tool group after which a run is parked."""
    drain_grace_s: float = Field(8.0, ge=0, le=86_400)
    """Seconds after SIGTERM that work in flight may continue before it is handed back."""
    max_stuck_threads: int = Field(4, ge=1, le=10_000)
    max_question_bytes: int = Field(100_000, ge=1, le=100_000_000)
    max_batch_bytes: int = Field(4_000_000_000, ge=1, le=10**15)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, _Variables(settings_cls)

    @field_validator("tool_modules", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        return tuple(_absolute(part) for part in parts if part) if isinstance(parts, list | tuple) else value

    @property
    def database(self) -> str:
        """The SQLAlchemy URL to use."""
        return self.database_url or f"sqlite:///{(self.data_dir / 'stepmill.db').absolute()}"

    @property
    def redis(self) -> str:
        """The Redis URL to use. A stack starts its own Redis on a port named in its environment."""
        return self.redis_url or "redis://127.0.0.1:6379/0"

    @property
    def practice(self) -> bool:
        """Whether the practice model answers for agents that name no model."""
        return not self.model

    @property
    def takeover_s(self) -> float:
        """The documented bound, in seconds, for taking over a dead worker's work while the database is available."""
        return self.beat_s + (self.dead_after_ticks + 2) * self.tick_s


def _absolute(module: str) -> str:
    """Makes a path absolute, so that it means the same in processes started in another directory."""
    path = "/" in module or module.startswith((".", "~")) or module.endswith(".py")
    return str(Path(module).expanduser().absolute()) if path else module


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Returns the settings of this process, read at the first call."""
    return Settings()
