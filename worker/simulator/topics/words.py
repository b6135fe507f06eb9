"""Word lists as patterns: topics are recognised by the words of several languages, one language a line."""

from __future__ import annotations

import re


def any_of(*lines: str) -> re.Pattern[str]:
    """A pattern that finds any of the alternatives; each line holds some, separated by bars. Case does not matter."""
    return re.compile(joined(*lines), re.IGNORECASE)


def joined(*lines: str) -> str:
    """The lines as one group of alternatives, to stand in a larger pattern."""
    return f"(?:{'|'.join(lines)})"
