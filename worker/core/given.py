"""Validation of input from people and programs: strict about names and values, with clear error messages."""

from __future__ import annotations

import difflib
import math
import re
import reprlib
from collections.abc import Collection, Iterable
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

MAX_DEPTH = 32
"""The deepest nesting of objects and lists that is accepted; deeper values could be stored but not shown."""

RENDERED_DEPTH = 200
"""Values up to this depth are shown unchanged: the JSON writer fails at 254, and a response adds levels."""

_MAX_INTEGER = 2**64
_SURROGATE = re.compile("[\ud800-\udfff]")
_LISTED = 12
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist = 2, 3, 3
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def shown(value: object) -> str:
    """Returns a value as bounded text for a sentence, however long or deep it is."""
    return _SHORT.repr(value)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def nearest(name: str, known: Iterable[str], least: float = 0.7) -> str | None:
    """Returns the known name that was probably meant, ignoring case and punctuation, or None."""
    by_plain = {_plain(one): one for one in known}
    found = difflib.get_close_matches(_plain(name[:100]), by_plain, n=1, cutoff=least)
    return by_plain[found[0]] if found else None


def unknown_name(name: str, known: Collection[str], what: str) -> str:
    """Returns a sentence about an unknown name that offers the nearest known one or lists those that exist."""
    meant = nearest(name, known)
    if meant is not None:
        return f"There is no {what} {shown(name)} here; did you mean {meant!r}?"
    names = sorted(known)
    listed = ", ".join(names[:_LISTED]) + (" and more" if len(names) > _LISTED else "")
    return f"There is no {what} {shown(name)} here; there is {listed or 'none'}."


def unfit(value: Any, most: int = MAX_DEPTH) -> str | None:
    """Returns why a value cannot be stored and shown as JSON, as the end of a sentence; None: it can."""
    level = [value]
    for _ in range(most + 1):
        if (found := next((reason for one in level if (reason := _unfit_leaf(one))), None)) is not None:
            return found
        containers = [one for one in level if isinstance(one, (dict, list, tuple))]
        if not containers:
            return None
        level = [inner for one in containers for inner in (one.values() if isinstance(one, dict) else one)]
    return f"is nested deeper than {most} levels"


def showable(value: Any) -> Any:
    """Returns a value fit for a response: unchanged, or with unfit parts replaced by text.

    Rows may hold values that are not accepted today, from an older version or a model.
    """
    return value if unfit(value, RENDERED_DEPTH) is None else _repaired(value, MAX_DEPTH)


def _repaired(value: Any, levels: int) -> Any:
    if isinstance(value, (dict, list, tuple)) and not levels:
        return f"(not shown: nested deeper than {MAX_DEPTH} levels)"
    if isinstance(value, dict):
        return {_repaired(str(name), 1): _repaired(inner, levels - 1) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_repaired(inner, levels - 1) for inner in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value if _unfit_leaf(value) is None else str(value)


def _unfit_leaf(value: Any) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"holds {value}, which is no number in JSON"
    if isinstance(value, int) and not -_MAX_INTEGER // 2 <= value < _MAX_INTEGER:
        return "holds a whole number of more than 64 bits"
    texts = value if isinstance(value, dict) else (value,)
    if any(isinstance(text, str) and not text.isascii() and _SURROGATE.search(text) for text in texts):
        return "holds half a character (a lone surrogate)"
    return None


UNKNOWN_NAME = "unknown_name"
"""The type of the validation error whose message is a complete sentence about a name."""


class Given(BaseModel):
    """Refuses unknown names, suggesting the nearest known one, and true, NaN, infinity and NUL if meaningless."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_names(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for name in given:
                if name not in cls.model_fields:
                    sentence = unknown_name(str(name), cls.model_fields, "field")
                    raise PydanticCustomError(
                        UNKNOWN_NAME,
                        "{sentence}",
                        {"sentence": sentence, "name": str(name), "meant": nearest(str(name), cls.model_fields)},
                    )
        return given

    @field_validator("*", mode="before")
    @classmethod
    def _plain_values(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and not _takes_flags(cls.model_fields[str(info.field_name)].annotation):
            raise PydanticCustomError("flag", "true and false are not understood here")
        if isinstance(value, str) and "\0" in value:
            raise PydanticCustomError("nul", "it contains a NUL character")
        if isinstance(value, (dict, list)) and (reason := unfit(value)) is not None:
            raise PydanticCustomError("unfit", "it {reason}", {"reason": reason})
        return value


def _takes_flags(annotation: Any) -> bool:
    return annotation in (bool, Any) or any(_takes_flags(part) for part in get_args(annotation))
