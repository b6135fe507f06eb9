"""Gives each model call a total deadline, and lets another thread end it by shutting its socket down.

Closing a client does not interrupt a read in another thread, and a client's read time-out starts anew with every byte.
So a model client's connections use sockets of our own (`sockets.py`): each blocking step waits no longer than the
call's remaining time, and while it blocks, `Abort` holds the socket and may shut it down. This needs no thread.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from worker.core.errors import StopReason

T = TypeVar("T")


class AbortedError(OSError):
    """Raised in the calling thread after its call was aborted."""


class Abort:
    """Ends the model calls of one attempt from any other thread; the first reason is kept.

    One call uses it at a time. It holds a socket only while the call blocks on it. Shutting down and releasing take the
    same lock, so a connection that went back to its pool is never touched.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: StopReason | None = None
        self._socket: socket.socket | None = None

    @property
    def reason(self) -> StopReason | None:
        """The reason for the abort; None until aborted."""
        return self._reason

    def abort(self, reason: StopReason) -> bool:
        """Aborts the call. Returns False, and changes nothing, if it was aborted before."""
        with self._lock:
            if self._reason is not None:
                return False
            self._reason = reason
            if self._socket is not None:
                _shut_down(self._socket)
            return True

    def hold(self, sock: socket.socket) -> None:
        """Registers `sock` before the calling thread blocks on it; raises AbortedError if it must not."""
        with self._lock:
            self._check()
            self._socket = sock

    def let_go(self) -> None:
        """Releases the socket; raises AbortedError if the abort came meanwhile, even if the socket returned data."""
        with self._lock:
            self._socket = None
            self._check()

    def _check(self) -> None:
        if self._reason is not None:
            raise AbortedError(f"aborted: {self._reason.value}")


def _shut_down(sock: socket.socket) -> None:
    """Wakes the thread that blocks on it. Uses the plain socket's method: a TLS socket's would discard its state."""
    with contextlib.suppress(OSError):  # the peer closed it first, which wakes the blocked call too
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


class Call:
    """One model call, in the thread that makes it."""

    def __init__(self, deadline_s: float, abort: Abort) -> None:
        self.abort = abort
        self.limit_s = deadline_s
        self._ends_at = time.monotonic() + deadline_s

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self._ends_at

    def block_on(self, sock: socket.socket, timeout_s: float | None, work: Callable[[], T]) -> T:
        """Does one blocking step; raises TimeoutError at the call's end or after `timeout_s`, whichever comes first."""
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the call's time limit passed")
        sock.settimeout(left_s if timeout_s is None else min(left_s, timeout_s))
        self.abort.hold(sock)
        try:
            return work()
        finally:
            self.abort.let_go()


class _Current(threading.local):
    call: Call | None = None


_current = _Current()


@contextlib.contextmanager
def watched(deadline_s: float, abort: Abort) -> Iterator[Call]:
    """Makes everything that this thread sends and receives over guarded connections in the block part of one call."""
    call = Call(deadline_s, abort)
    _current.call = call
    try:
        yield call
    finally:
        _current.call = None


def blocking(sock: socket.socket, timeout_s: float | None, work: Callable[[], T]) -> T:
    """Does one step that may block, within this thread's call if there is one."""
    if _current.call is not None:
        return _current.call.block_on(sock, timeout_s, work)
    sock.settimeout(timeout_s)
    return work()
