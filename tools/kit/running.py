"""Runs a tool's function: sync ones directly, async ones on a loop of their own that heeds cancel and deadline."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tools.kit.context import ToolContext
from tools.kit.errors import ToolCrashed, ToolError, ToolFailure

T = TypeVar("T")
POLL_S = 0.1
_THE_WORKERS_OWN = frozenset({"SoftTimeLimitExceeded", "WorkerShutdown", "WorkerTerminate"})
"""Raised into a tool by the pool that runs it; by name, since tools know nothing of Celery."""


def run(function: Callable[..., Any], keywords: dict[str, Any], context: ToolContext, tool: str) -> Any:
    """What the function returned. Raises ToolFailure, also for what else the tool raises, and what the pool raises."""
    try:
        value = function(**keywords)
        if inspect.iscoroutine(value):
            return wait_for(value, context, tool)
        return value
    except ToolFailure:
        raise
    except Exception as error:  # a tool may raise anything, and the run must go on
        if type(error).__name__ in _THE_WORKERS_OWN:
            raise
        retryable = isinstance(error, OSError)
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ToolCrashed(
            f"{tool} failed with {said}. Try other arguments or another way.", retryable=retryable
        ) from error


def wait_for(coroutine: Coroutine[Any, Any, T], context: ToolContext, tool: str) -> T:
    """The coroutine's result, from synchronous code; cancelled with a ToolError when the context says stop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_until_stopped(coroutine, context, tool))
    return _in_a_thread(coroutine, context, tool)


def _in_a_thread(coroutine: Coroutine[Any, Any, T], context: ToolContext, tool: str) -> T:
    """For callers that are themselves on a loop, such as a notebook or an async test."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(_until_stopped(coroutine, context, tool)))
        except BaseException as error:  # carried over to the caller's thread below
            failure.append(error)

    thread = threading.Thread(target=work, name=f"tool-{tool}")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


async def _until_stopped(coroutine: Coroutine[Any, Any, T], context: ToolContext, tool: str) -> T:
    work = asyncio.ensure_future(coroutine)
    while not work.done():
        await asyncio.wait([work], timeout=min(POLL_S, context.remaining_s()))
        why = context.stopped()
        if why and not work.done():
            work.cancel()
            await asyncio.wait([work], timeout=1.0)
            raise ToolError(f"{tool} was stopped: {why}.", retryable=False)
    return work.result()
