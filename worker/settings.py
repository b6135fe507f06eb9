"""Every setting, read once from `STEPMILL_…` variables or an `.env`, and frozen."""

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
    """The variables with our prefix, in whatever case, from where every part of stepmill reads them."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self()[field_name], field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {name.upper(): value for name, value in environment().items()}
        fields = {name: PREFIX + name.upper() for name in self.settings_cls.model_fields}
        return {field: found[name] for field, name in fields.items() if name in found}


class Settings(BaseSettings):
    """What a process needs to know about where it runs. Agents and their models are described in `worker.agents`."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True)

    data_dir: Path = Path(".stepmill")
    database_url: str = Field("", repr=False)
    """Empty: SQLite in the data directory."""
    redis_url: str = Field("", repr=False)
    """Empty: the private Redis that `stepmill up` starts."""
    agents_file: Path | None = None
    tool_modules: Annotated[tuple[str, ...], NoDecode] = ()
    model: str = ""
    """Empty: practice mode, unless the agents file names models."""
    practice_url: str = ""
    """Address of the practice model; set by the embedded stack."""
    prices_file: Path | None = None
    api_url: str = Field("", repr=False)
    api_key: str = Field("", repr=False)
    admin_key: str = Field("", repr=False)
    flower_url: str = Field("", repr=False)
    """Where Flower is, for the links that `run show` prints; of a stack in this directory it is known."""

    db_pool: int = Field(8, ge=1, le=200)
    """Connections that one process may hold to PostgreSQL."""
    hot_set: int = Field(0, ge=0, le=1_000_000)
    """Runs in motion at once; 0: four for each live think slot, at least 64."""
    interactive_reserve: int = Field(16, ge=1, le=1_000_000)
    """Admission slots that only interactive runs may use."""
    parked_per_batch: int = Field(100, ge=1, le=1_000_000)
    """Parked runs of one batch and reason, at which the batch admits no more."""

    beat_s: float = Field(2.0, gt=0, le=3_600)
    """A worker increments its heartbeat counter this often."""
    tick_s: float = Field(2.0, gt=0, le=3_600)
    """The sweeper looks this often."""
    dead_after_ticks: int = Field(5, ge=2, le=10_000)
    """Consecutive successful ticks without a new beat until a worker is declared dead."""
    resend_after_s: float = Field(5.0, gt=0, le=86_400)
    """A work message that nobody answered is sent again no sooner, and only on evidence that it was lost."""
    park_after_s: float = Field(15.0, gt=0, le=86_400)
    """A run whose tool group has no worker for this long gives its slot to others."""
    drain_grace_s: float = Field(8.0, ge=0, le=86_400)
    """After SIGTERM, work in flight may go on this long before it is handed back."""
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
        """The SQLAlchemy URL in force."""
        return self.database_url or f"sqlite:///{(self.data_dir / 'stepmill.db').absolute()}"

    @property
    def redis(self) -> str:
        """The Redis in force. A stack starts its own on a port that its environment names."""
        return self.redis_url or "redis://127.0.0.1:6379/0"

    @property
    def practice(self) -> bool:
        """Whether answers come from the practice model when an agent names none."""
        return not self.model

    @property
    def takeover_s(self) -> float:
        """The stated time within which the work of a dead process goes on elsewhere, on a database that answers."""
        return self.beat_s + (self.dead_after_ticks + 2) * self.tick_s


def _absolute(module: str) -> str:
    """A path from where the command is run means the same in processes that are started elsewhere."""
    path = "/" in module or module.startswith((".", "~")) or module.endswith(".py")
    return str(Path(module).expanduser().absolute()) if path else module


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read at the first call."""
    return Settings()
