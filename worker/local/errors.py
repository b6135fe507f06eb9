"""Errors of the stack on one machine. Each message says what happened and what to do."""

from __future__ import annotations


class StackError(Exception):
    """The stack cannot do what was requested. `hint` says how to fix it; "" if the message is enough."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class AlreadyRunning(StackError):
    """A stack runs in this data directory."""


class PortInUse(StackError):
    """A requested port is in use."""


class ServiceFailed(StackError):
    """A part of the stack did not start, or was not ready in time."""


class Interrupted(StackError):
    """A stop was requested while the stack was starting."""
