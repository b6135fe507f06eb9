"""How fast this process has been asking an endpoint, which a refusal halves."""

from __future__ import annotations

from worker.limits.throttle import Recent


def test_the_rate_is_that_of_the_last_seconds_and_of_each_endpoint_apart() -> None:
    recent = Recent()
    assert recent.per_min("a", 100.0) == 0.0
    for n in range(40):
        recent.note("a", 100.0 + n / 10)
    recent.note("b", 103.0)
    assert recent.per_min("a", 104.0) == 600.0
    assert recent.per_min("b", 104.0) == 60.0
    assert recent.per_min("a", 112.0) == 60.0 * 20 / 10
    assert recent.per_min("a", 120.0) == 0.0
