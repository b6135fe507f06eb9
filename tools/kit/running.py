"""Runs a tool's function, and its other code before and after, and contains whatever it raises."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, TypeVar

from tools.kit.context import ToolContext
from tools.kit.errors import ToolCrashed, ToolError, ToolFailure
from tools.kit.failures import described, leaves

T = TypeVar("T")
POLL_S = 0.1
_LAST_WORDS_S = 1.0
_ITEMS = 50_000
_POOLS = ("billiard", "celery")
_HANDLER = ("billiard.common", "_shutdown_cleanup")
"""The pool process's SIGTERM handler, which raises SystemExit."""
_THE_WORKERS_OWN = frozenset({"SoftTimeLimitExceeded", "WorkerShutdown", "WorkerTerminate"})
"""Exceptions that the pool raises into a tool; by name, since tools do not import Celery."""


def run(function: Callable[..., Any], keywords: dict[str, Any], context: ToolContext, tool: str) -> Any:
    """Returns the function's result, awaited if needed. Raises whatever it raises: call it within `guarded`."""
    value = function(**keywords)
    if inspect.isasyncgen(value):
        value = _collected(value)
    return wait_for(_awaited(value), context, tool) if inspect.isawaitable(value) else value


@contextlib.contextmanager
def guarded(tool: str) -> Iterator[None]:
    """Lets only ToolFailure out of the tool's code, and what a signal or the pool raised into it.

    Exits, cancellations and interrupts that the tool itself raises are failures like any other.
    """
    with _interrupts() as interrupts:
        try:
            yield
        except BaseException as error:  # a tool may raise anything, and the run must go on
            ours = next((leaf for leaf in leaves(error) if _is_ours(leaf, interrupts)), None)
            if ours is None:
                raise _failure(error, tool) from error
            if ours is error:
                raise
            raise ours from error


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Records real Ctrl-C signals, to distinguish them from a KeyboardInterrupt that the tool raises."""
    noted: list[int] = []
    before = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(before):
        yield noted
        return

    def note(number: int, frame: Any) -> None:
        noted.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _is_ours(error: BaseException, interrupts: list[int]) -> bool:
    if isinstance(error, KeyboardInterrupt):
        return bool(interrupts)
    if any(kind.__name__ in _THE_WORKERS_OWN and _of_a_pool(kind.__module__) for kind in type(error).__mro__):
        return True
    return isinstance(error, SystemExit) and _HANDLER in _functions(error.__traceback__)


def _of_a_pool(module: str) -> bool:
    return module.split(".")[0] in _POOLS


def _functions(trace: TracebackType | None) -> Iterator[tuple[object, str]]:
    """Yields module and name of each function in the traceback. In pool processes, the pool replaces `sys.exit`."""
    while trace is not None:
        yield trace.tb_frame.f_globals.get("__name__"), trace.tb_frame.f_code.co_name
        trace = trace.tb_next


def _failure(error: BaseException, tool: str) -> ToolFailure:
    found = list(leaves(error))
    meant = [leaf for leaf in found if isinstance(leaf, ToolFailure)]
    if len(found) == 1 and meant:
        return meant[0]
    if meant:
        return ToolError("; ".join(leaf.message for leaf in meant), retryable=all(leaf.retryable for leaf in meant))
    retryable = all(isinstance(leaf, OSError) for leaf in found)
    return ToolCrashed(
        f"{tool} failed with {described(error)}. Try other arguments or another way.", retryable=retryable
    )


async def _awaited(value: Awaitable[T]) -> T:
    return await value


async def _collected(values: Any) -> list[Any]:
    """Collects an async generator's items up to a limit, since it may be endless; `results` shows fewer."""
    found: list[Any] = []
    async for value in values:
        found.append(value)
        if len(found) > _ITEMS:
            break
    return found


def wait_for(coroutine: Coroutine[Any, Any, T], context: ToolContext, tool: str) -> T:
    """Returns the coroutine's result to synchronous code; cancels it with a ToolError if the context says stop."""
    return (_in_a_thread if _on_one_already() else _on_a_loop)(coroutine, context, tool)


def _on_one_already() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_a_thread(coroutine: Coroutine[Any, Any, T], context: ToolContext, tool: str) -> T:
    """Runs the coroutine for a caller that is itself on a loop, such as a notebook or an async test."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(_on_a_loop(coroutine, context, tool))
        except BaseException as error:  # passed on to the caller's thread below
            failure.append(error)

    thread = threading.Thread(target=work, name=f"tool-{tool}")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def _on_a_loop(coroutine: Coroutine[Any, Any, T], context: ToolContext, tool: str) -> T:
    """Runs the coroutine on a new loop that ends with the call, even if something on it refuses to be cancelled."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_until_stopped(coroutine, context, tool))
    finally:
        with contextlib.suppress(RuntimeError):  # stopped by a signal in mid-step
            loop.run_until_complete(_ended(loop))
        loop.close()


async def _ended(loop: asyncio.AbstractEventLoop) -> None:
    """Cancels the tasks that the tool left running and waits briefly for them."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_LAST_WORDS_S)
    await asyncio.wait([asyncio.ensure_future(loop.shutdown_asyncgens())], timeout=_LAST_WORDS_S)


async def _until_stopped(coroutine: Coroutine[Any, Any, T], context: ToolContext, tool: str) -> T:
    work = asyncio.ensure_future(coroutine)
    while not work.done():
        await asyncio.wait([work], timeout=min(POLL_S, context.remaining_s()))
        why = context.stopped()
        if why and not work.done():
            work.cancel()
            await asyncio.wait([work], timeout=_LAST_WORDS_S)
            raise ToolError(f"{tool} was stopped: {why}.", retryable=False)
    return work.result()
