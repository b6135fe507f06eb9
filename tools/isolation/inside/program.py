"""Runs one program and reports its outcome: the value of its last expression, or its error with line numbers."""

from __future__ import annotations

import ast
import io
import linecache
import os
import sys
import threading
import traceback
import types
from typing import Any

NAME = "program.py"
_VALUE_CHARS = 20_000
_ERROR_CHARS = 8_000
_IMAGES = (".png", ".jpg", ".jpeg", ".svg", ".pdf", ".gif", ".webp")


def run(code: str) -> dict[str, Any]:
    """Returns `{"value": text or None, "error": text or None}`; prints go to standard output as they happen."""
    main = types.ModuleType("__main__")
    main.__dict__["__file__"] = NAME
    sys.modules["__main__"] = main
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    try:
        value = _execute(code, main.__dict__)
        text = None if value is None else _shown(value)
        error = None
        _save_figures_left_open()
        _join_threads()
    except SystemExit as ended:
        text, error = None, _exit_text(ended)
    except BaseException as problem:  # anything the program raises is its outcome
        text, error = None, _error_text(problem)
    _flush()
    return {"value": text, "error": error}


def _execute(code: str, names: dict[str, Any]) -> object:
    tree = ast.parse(code, NAME)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, NAME, "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], tree.type_ignores), NAME, "exec"), names)
    return eval(compile(ast.Expression(last.value), NAME, "eval"), names)


def _shown(value: object) -> str:
    text = str(value) if isinstance(value, str) else repr(value)
    if len(text) <= _VALUE_CHARS:
        return text
    return f"{text[:_VALUE_CHARS]}… ({len(text) - _VALUE_CHARS:,} characters left out)"


def _error_text(problem: BaseException) -> str:
    """Returns the traceback as Python writes it, without lines that are not the program's."""
    found = traceback.TracebackException.from_exception(problem, limit=200, compact=True)
    _keep_own_lines(found)
    text = "".join(found.format())
    if len(text) > _ERROR_CHARS:
        half = _ERROR_CHARS // 2
        text = f"{text[:half]}\n… (lines left out)\n{text[-half:]}"
    return text.rstrip()


def _keep_own_lines(found: traceback.TracebackException | None) -> None:
    """Drops the harness's lines and all but a library's last line; also in the errors that led to this one."""
    if found is not None:
        last = len(found.stack) - 1
        kept = [frame for place, frame in enumerate(found.stack) if frame.filename == NAME or place == last]
        unread = found.exc_type is SyntaxError and all(frame.filename != NAME for frame in kept)
        found.stack[:] = [] if unread else kept
        _keep_own_lines(found.__cause__)
        _keep_own_lines(None if found.__suppress_context__ else found.__context__)


def _exit_text(ended: SystemExit) -> str | None:
    if ended.code in (None, 0):
        return None
    return f"The program ended itself with sys.exit({ended.code!r})."


def _save_figures_left_open() -> None:
    """Saves figures of programs that draw but neither save nor show."""
    drawn = "matplotlib.pyplot" in sys.modules
    if drawn and not any(name.lower().endswith(_IMAGES) for name in os.listdir()):
        from tools.isolation.inside import figures  # matplotlib is only loaded if the program imported it

        figures.show()


def _join_threads() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # the program closed or replaced the stream, which it may


def open_streams() -> None:
    """Makes output line-buffered, so that what was printed before a sudden end is not lost."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        raw = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115 - it lives as long as the process
        buffered = io.BufferedWriter(raw, 8192)
        setattr(sys, name, io.TextIOWrapper(buffered, "utf-8", "replace", line_buffering=True))
