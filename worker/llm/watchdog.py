"""A total deadline for each model call, and a way to end it from another thread: by shutting its socket down.

Closing a client does not interrupt a read in another thread, and a client's read time-out starts anew with every byte.
So the connections of a model client run over sockets of our own (`sockets.py`): each blocking step waits no longer than
what is left of the call, and while it blocks, `Abort` knows the socket and may shut it down. It needs no thread.
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
    """Raised inside the calling thread once its call was aborted."""


class Abort:
    """Ends the model calls of one attempt from any other thread; the first reason stays.

    One call uses it at a time. A socket is known here only while its call blocks on it, and is shut down under the same
    lock that lets it go: a connection that went back to its pool is never touched.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: StopReason | None = None
        self._socket: socket.socket | None = None

    @property
    def reason(self) -> StopReason | None:
        """None until aborted."""
        return self._reason

    def abort(self, reason: StopReason) -> bool:
        """False: it was aborted before, and nothing changes."""
        with self._lock:
            if self._reason is not None:
                return False
            self._reason = reason
            if self._socket is not None:
                _shut_down(self._socket)
            return True

    def hold(self, sock: socket.socket) -> None:
        """The calling thread is about to block on `sock`; AbortedError when it must not."""
        with self._lock:
            self._check()
            self._socket = sock

    def let_go(self) -> None:
        """It blocks no more; AbortedError when the abort came meanwhile, whatever the socket still gave."""
        with self._lock:
            self._socket = None
            self._check()

    def _check(self) -> None:
        if self._reason is not None:
            raise AbortedError(f"aborted: {self._reason.value}")


def _shut_down(sock: socket.socket) -> None:
    """Wakes whoever blocks on the socket. The plain socket's method: that of a TLS socket would tear its state away."""
    with contextlib.suppress(OSError):  # the peer was faster: then the blocked call wakes by itself
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


class Call:
    """One model call in the thread that makes it."""

    def __init__(self, deadline_s: float, abort: Abort) -> None:
        self.abort = abort
        self.limit_s = deadline_s
        self._ends_at = time.monotonic() + deadline_s

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self._ends_at

    def block_on(self, sock: socket.socket, timeout_s: float | None, work: Callable[[], T]) -> T:
        """Does one blocking step; TimeoutError at the call's end or after `timeout_s`, whichever comes first."""
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
    """What this thread sends and receives over guarded connections inside the block belongs to one call."""
    call = Call(deadline_s, abort)
    _current.call = call
    try:
        yield call
    finally:
        _current.call = None


def blocking(sock: socket.socket, timeout_s: float | None, work: Callable[[], T]) -> T:
    """Does one step that may block, for the call of this thread if there is one."""
    if _current.call is not None:
        return _current.call.block_on(sock, timeout_s, work)
    sock.settimeout(timeout_s)
    return work()
