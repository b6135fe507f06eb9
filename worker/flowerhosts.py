"""Flower without a password answers under its own names only, so that no foreign page reaches it by its own name."""

from __future__ import annotations

import re
from collections.abc import Iterable

import flower.urls
from tornado.options import options
from tornado.routing import HostMatches, Rule

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")


def answer_under(names: Iterable[str]) -> None:
    """Everything that Flower serves is found under these host names only; a password makes this needless.

    A browser sends a page's own host name along, so a name that an attacker points at loopback is not among them.
    """
    if options.basic_auth or options.auth or options.url_prefix:
        return
    pattern = "|".join(re.escape(name) for name in sorted(names))
    flower.urls.handlers[:] = [Rule(HostMatches(f"^(?:{pattern})$"), list(flower.urls.handlers))]
