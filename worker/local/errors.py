"""What can go wrong with the stack on one machine. Each message says what happened and what to do."""

from __future__ import annotations


class StackError(Exception):
    """The stack cannot do what was asked. `hint` is the remedy, "" where the message says it all."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class AlreadyRunning(StackError):
    """A stack runs in this data directory."""


class PortInUse(StackError):
    """A port that was asked for is taken."""


class ServiceFailed(StackError):
    """A part of the stack did not start, or did not become ready in its time."""


class Interrupted(StackError):
    """A stop was asked for while the stack was starting."""
