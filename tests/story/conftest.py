"""Fixtures: a database, helpers that move runs by hand, and real workers for the last chapter."""

from __future__ import annotations

from tests.engine.fixtures import counter, fleet, nursery, practice
from tests.store.conftest import store, world

__all__ = ["counter", "fleet", "nursery", "practice", "store", "world"]
