"""Finds out which isolation works here, by trying it once."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache

from tools.isolation.bubblewrap import bubblewrap_command
from tools.isolation.launching import Launch, run_isolated
from tools.isolation.limits import ResourceLimits

BUBBLEWRAP, NAMESPACES, NONE = "bubblewrap", "namespaces", "none"

REMEDY = (
    "On Linux install bubblewrap (`apt install bubblewrap`) or allow user namespaces (in a container: run it with "
    "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined`); elsewhere, and at your own risk, set "
    "STEPMILL_PYTHON_ISOLATION=none."
)
_TRIAL = ResourceLimits(time_s=20.0, cpu_s=10)


def mechanism(setting: str | None = None) -> str | None:
    """Returns `bubblewrap` or `namespaces`, `none` if the setting says so, or None if no isolation works here.

    `setting` is the value of STEPMILL_PYTHON_ISOLATION: unset tries all mechanisms, a name allows only that one.
    """
    return NONE if setting == NONE else _found(setting)[0]


def why_none(setting: str | None = None) -> str:
    """Returns why each mechanism failed when it was tried; "" if one works."""
    name, reasons = _found(setting)
    return "" if name else "; ".join(reasons)


@cache
def _found(setting: str | None) -> tuple[str | None, tuple[str, ...]]:
    reasons: list[str] = []
    for name in _candidates(setting):
        reason = _fails(name)
        if reason is None:
            return name, ()
        reasons.append(f"{name}: {reason}")
    return None, tuple(reasons) or (f"{setting or sys.platform}: no such isolation",)


def _candidates(setting: str | None) -> list[str]:
    """Orders the mechanisms. As root, namespaces come first: bubblewrap would keep root's id, without process limit."""
    if sys.platform != "linux":
        return []
    order = [NAMESPACES, BUBBLEWRAP] if os.geteuid() == 0 else [BUBBLEWRAP, NAMESPACES]
    return [name for name in order if setting in (None, name)]


def _fails(name: str) -> str | None:
    """Returns why a trial program did not run; None if it did."""
    if name == BUBBLEWRAP and shutil.which("bwrap") is None:
        return "bwrap is not installed"
    outcome = run_isolated(Launch(name, "6 * 7", _TRIAL, command_prefix_for(name)), lambda: None)
    return None if outcome.value == "42" else outcome.failure or "the trial program did not run"


def command_prefix_for(name: str) -> tuple[str, ...]:
    """Returns the part of the command line before the interpreter."""
    return bubblewrap_command(_TRIAL.disk) if name == BUBBLEWRAP else ()
