"""The result of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from worker.local.state import StackInfo
from worker.settings import Settings


class Level(StrEnum):
    """How bad a finding is: fine, worth knowing, wrong, or a service that does not answer."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result. `code` names the problem for programs; `remedy` says how to fix it."""

    about: str
    message: str
    level: Level = Level.OK
    code: str = ""
    remedy: str = ""


def fault(about: str, code: str, message: str, remedy: str, level: Level = Level.FAULT) -> Finding:
    return Finding(about, message, level, code, remedy)


@dataclass(slots=True)
class Patient:
    """What is checked: the settings in force and the stack of this directory, if one runs.

    `usable` collects what later checks may rely on, so that they skip a database that is away.
    """

    settings: Settings
    stack: StackInfo | None = None
    usable: set[str] = field(default_factory=set)


Check = Callable[[Patient], Iterable[Finding]]
