"""The error tree is drawn as it is, and each error knows its culprit."""

from __future__ import annotations

import re

from worker.core import errors
from worker.core.errors import Culprit, ErrorCode, RunError, StepmillError


def subclasses(kind: type[StepmillError]) -> list[type[StepmillError]]:
    """Those of the engine; what other packages derive from them is theirs."""
    below = [deeper for child in kind.__subclasses__() for deeper in subclasses(child)]
    return [found for found in (kind, *below) if found.__module__ == errors.__name__]


def test_the_drawing_names_every_error_and_no_other() -> None:
    drawn = set(re.findall(r"^[│ ]*[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE))
    assert drawn == {kind.__name__ for kind in subclasses(StepmillError)} - {"StepmillError"}


def test_only_errors_of_a_run_have_a_code() -> None:
    with_code = {kind for kind in subclasses(StepmillError) if hasattr(kind, "code")}
    assert with_code == set(subclasses(RunError))
    assert {kind.culprit for kind in with_code} == {Culprit.RUN}


def test_the_list_of_codes_is_the_documented_one() -> None:
    assert [code.value for code in ErrorCode] == [
        "max_steps", "deadline", "budget", "malformed_replies", "tool_loop",
        "context_overflow", "content_filter", "output_limit", "model_rejected", "poisoned", "internal",
    ]  # fmt: skip
