"""How real endpoints differ from the chat API as it is written: each way by name, to test with and to rehearse."""

from worker.practice.quirks.base import Quirk
from worker.practice.quirks.registry import QUIRKS, chosen

__all__ = ["QUIRKS", "Quirk", "chosen"]
