"""Waiting for a condition instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE_S = 0.02


def wait_until(description: str, condition: Callable[[], T | None], timeout_s: float = 10.0) -> T:
    """Returns the first truthy value of `condition`; fails with `description` and the last value after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:g} s in vain until {description}; last seen: {value!r}")
        time.sleep(PAUSE_S)
    return value
