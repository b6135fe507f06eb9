"""Turns every error into one sentence, one hint and an exit code, without a traceback."""

from __future__ import annotations

import traceback
from typing import IO, Any

import click

from tools.environment import variable
from worker.core.errors import UserError
from worker.terminal import echo

EXIT_FAILED, EXIT_WRONG_USE, EXIT_UNREACHABLE = 1, 2, 3
TRACEBACK_VARIABLE = "STEPMILL_TRACEBACK"


class Refusal(click.ClickException):
    """A command failed: one sentence and one hint."""

    def __init__(self, message: str, hint: str = "", exit_code: int = EXIT_WRONG_USE) -> None:
        super().__init__(message)
        self.hint = hint
        # Click declares `exit_code` on the class but reads it from the instance.
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: IO[Any] | None = None) -> None:
        echo(f"Error: {self.message}", file=file, err=True, fg="red")
        if self.hint:
            echo(f"Hint: {self.hint}", file=file, err=True)


def refusal(error: Exception) -> Refusal:
    """Returns the refusal for `error`. Only unexpected errors are called a bug."""
    if variable(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    if isinstance(error, UserError):
        return Refusal(error.message, error.hint, error.exit_code)
    if isinstance(error, UnicodeDecodeError):
        return Refusal(f"The input is not UTF-8: byte {error.start} cannot be read.", "Save it as UTF-8.")
    known = _by_package(error)
    if known:
        return known
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Refusal(f"{where}{error.strerror or error}.")
    hint = f"This is a bug in stepmill. {TRACEBACK_VARIABLE}=1 shows where it happened."
    return Refusal(f"Unexpected {type(error).__name__}: {one_line(error)}", hint, EXIT_FAILED)


def _by_package(error: Exception) -> Refusal | None:
    """Recognises errors by the name of their package: importing all packages would make every command slow."""
    module, name = type(error).__module__, type(error).__name__
    if module.startswith("worker.local"):
        hint: str = getattr(error, "hint", "")
        code = EXIT_UNREACHABLE if name == "ServiceFailed" else EXIT_WRONG_USE
        return Refusal(_sentence(one_line(error)), _sentence(hint), code)
    if module.startswith("pydantic") and name == "ValidationError":
        return _wrong_setting(error)
    if module.startswith("redis"):
        hint = "Start it, or correct STEPMILL_REDIS_URL; `stepmill doctor` says more."
        return Refusal(f"Redis cannot be reached: {one_line(error)}.", hint, EXIT_UNREACHABLE)
    if module.startswith("sqlalchemy"):
        hint = "`stepmill doctor` says what is wrong; STEPMILL_DATABASE_URL names the database."
        said = one_line(getattr(error, "orig", None) or error)
        return Refusal(f"The database cannot be used: {said}", hint, EXIT_UNREACHABLE)
    return None


def _wrong_setting(error: Any) -> Refusal:
    first = error.errors()[0]
    name = "STEPMILL_" + "_".join(str(part) for part in first["loc"]).upper()
    return Refusal(f"{name} is {first.get('input')!r}: {first['msg']}.", "Correct it in the environment or in .env.")


def one_line(error: object) -> str:
    """Returns the text of an error without line breaks."""
    return " ".join(str(error).split())


def _sentence(text: str) -> str:
    text = text.strip()
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
