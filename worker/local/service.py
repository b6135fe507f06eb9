"""Describes one part of the stack: what to run, how to tell that it is ready, how to stop it."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.local.health import Health


@dataclass(frozen=True, slots=True)
class Service:
    """Ready means that `health` returns true, else that an output line matches `ready_line`, else that it runs.

    Services of one `stage` start together, after all of the lower stages are ready. A `one_shot` is ready once it has
    ended with exit code 0. `env` is added to the supervisor's own environment.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    health: Health | None = None
    ready_line: re.Pattern[str] | None = None
    ready_timeout_s: float = 60.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_grace_s: float = 5.0
    restart: bool = True
    one_shot: bool = False
    stage: int = 0
