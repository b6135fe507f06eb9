"""Applies quirks to requests: finds them by name, and keeps what each needs from earlier requests."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worker.practice.http import Request
from worker.practice.quirks.base import Asked, Quirk, Wire
from worker.practice.quirks.registry import chosen
from worker.practice.reading import read
from worker.practice.records import Completion

PREFIX = "/quirk/"
_REMEMBERED = 20_000


def split_path(path: str) -> tuple[tuple[str, ...], str]:
    """`/quirk/ids-of-nine+usage-absent/v1/models` gives the two names and `/v1/models`."""
    if not path.startswith(PREFIX):
        return (), path
    names, slash, rest = path.removeprefix(PREFIX).partition("/")
    return tuple(name for name in names.split("+") if name), slash + rest


@dataclass(slots=True)
class Memory:
    """What one conversation has asked under one quirk."""

    seen: dict[str, int] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)


class Played:
    """The quirks of one request, in order."""

    def __init__(self, parts: Iterable[tuple[Quirk, Asked]]) -> None:
        self._parts = tuple(parts)

    def refused(self) -> Wire | None:
        """Returns the first error with which a quirk answers instead of the model, or None."""
        found = (quirk.refuse(asked) for quirk, asked in self._parts)
        return next((wire for wire in found if wire is not None), None)

    def change(self, completion: Completion) -> None:
        """Lets each quirk alter the completion."""
        for quirk, asked in self._parts:
            quirk.change(asked, completion)

    def written(self, completion: Completion) -> Wire | None:
        """Returns the reply's bytes from the last quirk that writes them itself; None if none does."""
        found = [quirk.write(asked, completion) for quirk, asked in self._parts]
        return next((wire for wire in reversed(found) if wire is not None), None)


class Stage:
    """Remembers conversations for the quirks; use it within one event loop."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._memories: OrderedDict[tuple[str, ...], Memory] = OrderedDict()

    def play(self, names: Iterable[str], request: Request, body: Mapping[str, Any], prompt_tokens: int) -> Played:
        """Returns the quirks with these names for a request. ValueError names one that does not exist."""
        found = chosen(names)
        if not found:
            return Played(())
        conversation = read(body)
        turn = hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()[:16]
        model = str(body.get("model"))
        parts = []
        for one in found:
            memory = self._memory((one.address, model, conversation.form, conversation.question))
            seen = memory.seen.get(turn, 0)
            memory.seen[turn] = seen + 1
            seed = f"{self._seed}:{one.quirk.name}:{turn}"
            asked = Asked(request, body, conversation, prompt_tokens, seen, memory.kept, seed, one.sample)
            parts.append((one.quirk, asked))
        return Played(parts)

    def _memory(self, key: tuple[str, ...]) -> Memory:
        memory = self._memories.setdefault(key, Memory())
        self._memories.move_to_end(key)
        if len(self._memories) > _REMEMBERED:
            self._memories.popitem(last=False)
        return memory
