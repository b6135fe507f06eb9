"""How long the practice model takes: a fixed time or a distribution, drawn from a seeded source."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

Draw = Callable[[random.Random], float]

_FORMS = "seconds such as 1.5, uniform:LOW,HIGH, lognormal:MEDIAN,SIGMA or exponential:MEAN"


def latency(spec: str) -> Draw:
    """Parses seconds: `1.5`, `uniform:0.5,2`, `lognormal:1,0.5` (median, sigma), `exponential:1`; else ValueError."""
    kind, _, rest = spec.partition(":") if ":" in spec else ("fixed", "", spec)
    try:
        numbers = [float(part) for part in rest.split(",")]
        return _draw(kind.strip().lower(), numbers)
    except (ValueError, KeyError) as error:
        raise ValueError(f"latency {spec!r} is not understood; write {_FORMS}") from error


def _draw(kind: str, numbers: list[float]) -> Draw:
    if any(not math.isfinite(number) or number < 0 for number in numbers):
        raise ValueError("negative or infinite")
    if kind == "fixed":
        (seconds,) = numbers
        return lambda source: seconds
    if kind == "uniform":
        low, high = numbers
        return lambda source: source.uniform(low, high)
    if kind == "lognormal":
        median, sigma = numbers
        if median == 0:
            raise ValueError("a median of 0")
        return lambda source: source.lognormvariate(math.log(median), sigma)
    if kind == "exponential":
        (mean,) = numbers
        return lambda source: source.expovariate(1 / mean) if mean else 0.0
    raise KeyError(kind)
