"""How real endpoints deviate from the documented chat API: each deviation by name, for tests and rehearsals."""

from worker.practice.quirks.base import Quirk
from worker.practice.quirks.registry import QUIRKS, chosen

__all__ = ["QUIRKS", "Quirk", "chosen"]
