"""Every kind of reply is read as it should be."""

from __future__ import annotations

import pytest

from tests.dialects import kinds_react_json
from tests.dialects.outcomes import Wanted, fits, read

KINDS = [("react_json", *kind) for kind in kinds_react_json.KINDS]


@pytest.mark.parametrize(("dialect", "slug", "output", "wanted"), KINDS, ids=[f"{kind[0]}-{kind[1]}" for kind in KINDS])
def test_a_reply_of_this_kind_is_read_as_it_should_be(dialect: str, slug: str, output: str, wanted: Wanted) -> None:
    parsed = read(dialect, output)
    assert fits(parsed, wanted), f"{slug}: {output!r} was read as {parsed}"
