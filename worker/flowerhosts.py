"""Restricts a Flower without a password to its own host names, as protection against DNS rebinding."""

from __future__ import annotations

import re
from collections.abc import Iterable

import flower.urls
from tornado.options import options
from tornado.routing import HostMatches, Rule

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")


def answer_under(names: Iterable[str]) -> None:
    """Makes Flower answer under these host names only; does nothing if Flower has a password.

    A browser sends the page's host name, so a name that an attacker points at loopback is not among them.
    """
    if options.basic_auth or options.auth or options.url_prefix:
        return
    pattern = "|".join(re.escape(name) for name in sorted(names))
    flower.urls.handlers[:] = [Rule(HostMatches(f"^(?:{pattern})$"), list(flower.urls.handlers))]
