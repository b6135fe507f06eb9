"""Describes anything a tool raised in a line for the model: also exits, groups and errors that cannot be shown."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

_MESSAGE_CHARS = 4000
_LEAVES = 8


def described(error: BaseException) -> str:
    """Returns `Kind: message`; for a group each failure in it, for an exit what was printed before it."""
    if isinstance(error, BaseExceptionGroup):
        return _group(error)
    if isinstance(error, SystemExit):
        return _exit(error)
    kind, text = type(error).__name__, message_of(error)
    return f"{kind}: {text}" if text else kind


def message_of(error: BaseException) -> str:
    """Returns the error's own text, shortened; "" if it has none."""
    return shown(error, str)


def shown(value: object, how: Any = repr) -> str:
    """Returns the text of a value whose own methods may fail or return endless text."""
    try:
        text: str = how(value)
    except Exception as problem:  # the value's own code
        return f"(it cannot be shown: its text fails with {type(problem).__name__})"
    if len(text) <= _MESSAGE_CHARS:
        return text
    half = _MESSAGE_CHARS // 2
    return f"{text[:half]}[… {len(text) - 2 * half:,} characters left out …]{text[-half:]}"


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yields the failures in a group, however deep; any other error yields itself."""
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(reversed(one.exceptions))
        else:
            yield one


def _group(error: BaseExceptionGroup[BaseException]) -> str:
    found = list(leaves(error))
    more = f"; and {len(found) - _LEAVES} more" if len(found) > _LEAVES else ""
    return "; ".join(described(leaf)[: _MESSAGE_CHARS // _LEAVES] for leaf in found[:_LEAVES]) + more


def _exit(error: SystemExit) -> str:
    """Describes an exit: a command-line parser printed more than the code, namely a message and usage, or help."""
    code = error.code
    if isinstance(code, str) and code:
        return f"{type(error).__name__}: {shown(code, str)}"
    told = _parser_text(error.__traceback__) or _cause(error)
    return f"{type(error).__name__}: exit code {0 if code is None else shown(code)}" + (f": {told}" if told else "")


def _parser_text(trace: TracebackType | None) -> str:
    """Returns what `argparse` or `optparse` printed before exiting, taken from the calls that led to it."""
    found = ""
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") in {"argparse", "optparse"}:
            found = found or _said(trace.tb_frame)
        trace = trace.tb_next
    return found


def _said(frame: FrameType) -> str:
    parser = frame.f_locals.get("self")
    usage = getattr(parser, "format_usage", getattr(parser, "get_usage", None))
    if frame.f_code.co_name != "error":
        return _bare(getattr(parser, "format_help", None)) if frame.f_code.co_name == "exit" else ""
    return f"{shown(frame.f_locals.get('message', frame.f_locals.get('msg')), str)}. {_bare(usage)}"


def _bare(write: Any) -> str:
    return shown(write, lambda method: str(method())).strip() if callable(write) else ""


def _cause(error: SystemExit) -> str:
    cause = error.__cause__ or error.__context__
    return "" if cause is None else described(cause) if not isinstance(cause, SystemExit) else ""
