"""All quirks by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from worker.practice.quirks import bodies, demands, endings, errors, givebacks, keys, leaks, usages
from worker.practice.quirks.base import Quirk

_FAMILIES = (endings, leaks, givebacks, demands, errors, bodies, usages, keys)
QUIRKS: Mapping[str, Quirk] = {quirk.name: quirk for quirk in chain.from_iterable(part.QUIRKS for part in _FAMILIES)}


@dataclass(frozen=True, slots=True)
class Chosen:
    """A quirk as an address names it: `money`, or `money.3` for its third wording."""

    address: str
    quirk: Quirk
    sample: int | None


def chosen(addresses: Iterable[str]) -> list[Chosen]:
    """Returns the quirks with these addresses. ValueError names one that does not exist, and similar ones."""
    return [_chosen(address) for address in addresses]


def _chosen(address: str) -> Chosen:
    name, dot, number = address.partition(".")
    quirk = QUIRKS.get(name)
    if quirk is None:
        near = difflib.get_close_matches(name, QUIRKS, 3, 0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`stepmill simulate --quirk list` names them all"
        raise ValueError(f"there is no quirk {name!r}; {hint}")
    if dot and not (number.isascii() and number.isdigit() and 1 <= int(number) <= quirk.samples):
        raise ValueError(f"{address!r}: the quirk {name} has the samples {name}.1 to {name}.{quirk.samples}")
    return Chosen(address, quirk, int(number) if dot else None)
