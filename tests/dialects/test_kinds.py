"""Every kind of reply is read as it should be."""

from __future__ import annotations

import pytest

from tests.dialects import (
    kinds_brackets,
    kinds_call,
    kinds_json,
    kinds_json_input,
    kinds_native,
    kinds_react_json,
    kinds_react_text,
    kinds_turns,
)
from tests.dialects.outcomes import Wanted, fits, read

MODULES = (
    ("react_json", kinds_react_json),
    ("react_json", kinds_json_input),
    ("react_json", kinds_turns),
    ("react_text", kinds_react_text),
    ("react_brackets", kinds_brackets),
    ("react_call", kinds_call),
    ("json", kinds_json),
    ("native", kinds_native),
)
KINDS = [(dialect, *kind) for dialect, module in MODULES for kind in module.KINDS]


@pytest.mark.parametrize(("dialect", "slug", "output", "wanted"), KINDS, ids=[f"{kind[0]}-{kind[1]}" for kind in KINDS])
def test_a_reply_of_this_kind_is_read_as_it_should_be(dialect: str, slug: str, output: str, wanted: Wanted) -> None:
    parsed = read(dialect, output)
    assert fits(parsed, wanted), f"{slug}: {output!r} was read as {parsed}"
