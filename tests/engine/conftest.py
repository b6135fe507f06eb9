"""The fleet's fixtures."""

from __future__ import annotations

from tests.engine.fixtures import counter, fleet, nursery, practice

__all__ = ["counter", "fleet", "nursery", "practice"]
