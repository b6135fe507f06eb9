"""The built-in tools: every tool module in this folder, loaded by the same hook as a user's."""

from __future__ import annotations

import pkgutil
from pathlib import Path

_MACHINERY = {"base", "builtin", "config", "environment", "registry"}

MODULES = tuple(
    f"tools.{found.name}"
    for found in pkgutil.iter_modules([str(Path(__file__).parent)])
    if not found.ispkg and found.name not in _MACHINERY
)
