"""Repeats writes while the database is unreachable, and notes when an earlier commit's answer may have been lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, TimeoutError

from worker.store.errors import trouble

T = TypeVar("T")

log = logging.getLogger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0
GIVE_UP_AFTER_S = 1_800.0


def retry_on_outage(what: str, write: Callable[[], T], stop: Callable[[], bool] = lambda: False) -> tuple[T, bool]:
    """Runs `write` until the database answers. Returns its result and whether an earlier try may have landed.

    Only for writes that are guarded by a token and so land once however often they are sent. Raises the database's
    error after half an hour, or at once if `stop` returns True; the sweepers of other processes then take over.
    """
    wait_s, began, doubtful = FIRST_WAIT_S, time.monotonic(), False
    while True:
        try:
            return write(), doubtful
        except (DBAPIError, TimeoutError) as error:
            if not _passing(error) or stop() or time.monotonic() - began > GIVE_UP_AFTER_S:
                raise
            doubtful = True
            log.warning("%s: %s, trying again in %.1f s", what, trouble(error), wait_s)
            time.sleep(wait_s)
            wait_s = min(LONGEST_WAIT_S, wait_s * 2)


def _passing(error: Exception) -> bool:
    """Returns whether the same statement may work later: connection lost, server restarting, locks, pool exhausted."""
    if isinstance(error, TimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    name = type(error).__name__
    return name in ("OperationalError", "InterfaceError", "InternalError")
