"""Programs that no wheel contains. In CI a missing one fails the test; elsewhere the test says how to get it."""

from __future__ import annotations

import os
import shutil

import pytest


def program(*names: str, package: str) -> str:
    """The path of the first of these programs that is here."""
    for name in names:
        found = shutil.which(name)
        if found is not None:
            return found
    said = f"{' or '.join(names)} is missing here: `apt-get install {package}` brings it"
    if os.environ.get("CI"):
        pytest.fail(said)
    pytest.skip(said)
