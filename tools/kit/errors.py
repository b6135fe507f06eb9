"""What can go wrong with a tool, and whose fault it is.

ToolFailure          shown to the model as the observation
├── BadArguments     the model's: the call does not fit the schema
└── ToolError        the tool says what the model should know
    └── ToolCrashed  the tool's: it raised something that it did not mean to say
BadTool              its author's: refused when the module is loaded
"""

from __future__ import annotations


class ToolFailure(Exception):
    """Its text is written for the model. `retryable`: another attempt with the same arguments may succeed."""

    message = "The tool failed and said nothing."
    retryable = False

    def __init__(self, message: object, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.message = str(message)
        self.retryable = retryable


class BadArguments(ToolFailure):
    """The arguments do not fit; the message says what was wrong and what is allowed. Never retryable."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class ToolError(ToolFailure):
    """Raise it in a tool with what the model should know: what failed, and what to do instead."""


class ToolCrashed(ToolError):
    """The tool raised something else; `__cause__` holds it for the log."""


class BadTool(Exception):
    """A tool that cannot be offered to a model; the message says which one and how to fix it."""

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(f"tool {tool}: {reason}")
