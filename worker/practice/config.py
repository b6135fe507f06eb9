"""The settings of the practice model, set at start and by `POST /control`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from worker.practice.faults import Fault, fault_from
from worker.practice.latency import latency
from worker.practice.limits import PracticeLimits
from worker.practice.quirks import chosen
from worker.practice.untidy import KINDS as UNTIDY_KINDS

DEFAULT_MODELS = ("practice", "practice-small", "practice-large", "practice-reasoner")


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. `limits` applies to each model by itself; `model_limits` overrides it for some."""

    latency: str = "0"
    seed: int = 0
    models: tuple[str, ...] = DEFAULT_MODELS
    strict_models: bool = False
    """Answer 404 to a model that is not in `models`."""
    api_key: str | None = None
    """Answer 401 to any other key."""
    tools_supported: bool = True
    refused_fields: tuple[str, ...] = ()
    """Request fields that get a 400, as reasoning models refuse `temperature` and `stop`."""
    context_window: int | None = None
    """Most tokens of prompt and reply together; more gets the context length error."""
    faults: tuple[Fault, ...] = ()
    script: tuple[str | Mapping[str, Any], ...] = ()
    """Faults for the next requests, one each; `ok` for none. Comes before `faults`."""
    limits: PracticeLimits = field(default_factory=PracticeLimits)
    model_limits: Mapping[str, PracticeLimits] = field(default_factory=dict)
    untidy: tuple[str, ...] = ()
    untidy_rate: float = 1.0
    quirks: tuple[str, ...] = ()
    """Quirks for every request, by name or `name.sample`."""
    stream_pieces: int = 8
    keep_messages: bool = False
    """Whether the ledger keeps each request's messages and reply."""

    def changed(self, changes: Mapping[str, Any]) -> Config:
        """Returns these settings with JSON `changes` applied. ValueError says what is wrong."""
        known = {entry.name for entry in fields(Config)}
        if unknown := set(changes) - known:
            raise ValueError(f"there is no setting {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
        values = {name: _READERS.get(name, _as_it_is)(value) for name, value in changes.items()}
        config = replace(self, **values)
        latency(str(config.latency))
        return config

    def limits_of(self, model: str) -> PracticeLimits:
        return self.model_limits.get(model, self.limits)

    def as_json(self) -> dict[str, Any]:
        shown = asdict(self)
        shown["faults"] = [fault.as_json() for fault in self.faults]
        shown["api_key"] = None if self.api_key is None else "set"
        return shown


def _as_it_is(value: Any) -> Any:
    return value


def _limits(value: Any) -> PracticeLimits:
    try:
        return value if isinstance(value, PracticeLimits) else PracticeLimits(**value)
    except TypeError as error:
        raise ValueError("limits are an object of rpm, tpm, concurrency, window_s") from error


def _untidy(value: Any) -> tuple[str, ...]:
    kinds = UNTIDY_KINDS if value in ("all", ["all"], ("all",)) else tuple([value] if isinstance(value, str) else value)
    if unknown := [kind for kind in kinds if kind not in UNTIDY_KINDS]:
        raise ValueError(f"unknown untidiness {', '.join(map(str, unknown))}; there are {', '.join(UNTIDY_KINDS)}")
    return tuple(kinds)


def _quirks(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    return tuple(one.address for one in chosen(names))


def _script(value: Any) -> tuple[str | Mapping[str, Any], ...]:
    for entry in value:
        if entry != "ok":
            fault_from(entry)
    return tuple(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "latency": str,
    "models": tuple,
    "refused_fields": tuple,
    "faults": lambda value: tuple(entry if isinstance(entry, Fault) else fault_from(entry) for entry in value),
    "script": _script,
    "limits": _limits,
    "model_limits": lambda value: {model: _limits(entry) for model, entry in value.items()},
    "untidy": _untidy,
    "quirks": _quirks,
}
