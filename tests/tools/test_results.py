"""What scientific and other Python code returns comes back readable, and bounded."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import itertools
import math
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tools.base import File, MemoryArtifacts, ToolContext, ToolError, tool
from tools.kit.plain import plain


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date


class Model(BaseModel):
    price: decimal.Decimal
    parts: list[Point] = []


class Pair(NamedTuple):
    left: int
    right: object


class Plain:
    def __init__(self) -> None:
        self.size = 3


class Huge:
    def __repr__(self) -> str:
        return "x" * 10**7


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def said(make: Callable[[], Any], context: ToolContext | None = None) -> str:
    def give() -> Any:
        """Gives."""
        return make()

    return tool(give).call({}, context).observation


DAY = dt.date(2026, 1, 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (decimal.Decimal("1.10"), "1.10"),
        (fractions.Fraction(1, 3), "1/3"),
        (1 + 2j, "(1+2j)"),
        (math.nan, "nan"),
        ({"a": math.inf}, '{"a": "inf"}'),
        (DAY, "2026-01-02"),
        (dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), "2026-01-02T03:00:00+00:00"),
        (dt.timedelta(days=1, hours=2), "1 day, 2:00:00"),
        ({"raw": b"\x00\xff", "text": b"abc", "long": b"\xff" * 300}, None),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("/tmp/a"), "/tmp/a"),
        (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
        (Color.RED, "red"),
        ({Color.RED: 1, 2: 3, (1, 2): 4}, '{"red": 1, "2": 3, "[1, 2]": 4}'),
        (Point(1, DAY), '{"x": 1, "when": "2026-01-02"}'),
        (Model(price="1.5", parts=[Point(1, DAY)]), '{"price": "1.5", "parts": [{"x": 1, "when": "2026-01-02"}]}'),
        (Pair(1, {2}), '{"left": 1, "right": [2]}'),
        ({3, 1, 2}, "[1, 2, 3]"),
        (frozenset({"b", 1}), '["b", 1]'),
        (collections.deque([1, 2]), "[1, 2]"),
        ({"k": {1: 2}.keys()}, '{"k": [1]}'),
        (range(3), "range(0, 3)"),
        (int, "<class 'int'>"),
        (ValueError("no"), "ValueError: no"),
        (Plain(), '{"Plain.size": 3}'),
        ({"b": Broken()}, '{"b": "(it cannot be shown: its text fails with RuntimeError)"}'),
        ("", "Done. The tool returned an empty text."),
        (np.int64(3), "3"),
        (np.float32(0.5), "0.5"),
        (np.bool_(True), "true"),
        (np.datetime64("2026-01-02"), "2026-01-02"),
        (np.arange(3), "[0, 1, 2]"),
        (np.array(5), "5"),
        ({"m": np.eye(2, dtype=int)}, '{"m": [[1, 0], [0, 1]]}'),
        (np.array(["a", None], dtype=object), '["a", null]'),
        (np.array([]), "No results (an empty list)."),
        (pd.DataFrame({"a": [1, 2], "b": ["x", None]}), "| a | b |\n| --- | --- |\n| 1 | x |\n| 2 |  |"),
        (pd.DataFrame({"a": [1]}, index=pd.Index(["r"], name="key")), "| key | a |\n| --- | --- |\n| r | 1 |"),
        (pd.Series([1.5, math.nan], name="s", index=["x", "y"]), "|  | s |\n| --- | --- |\n| x | 1.5 |\n| y |  |"),
        (pd.DataFrame({"a": []}), "No rows. Columns: a."),
        (pd.Timestamp("2026-01-02"), "2026-01-02T00:00:00"),
        (pd.Timedelta("1h"), "0 days 01:00:00"),
        (pd.NA, "<NA>"),
        ({"t": pd.DataFrame({"a": [np.int64(1)]})}, '{"t": [{"a": 1}]}'),
        ([{"n": np.int64(1), "d": DAY}], "| n | d |\n| --- | --- |\n| 1 | 2026-01-02 |"),
    ],
)
def test_a_value_comes_back_readable(value: Any, text: str | None) -> None:
    found = said(lambda: value)
    if text is None:
        assert found.startswith('{"raw": "0x00ff", "text": "abc", "long": "0xffff')
        assert found.endswith('… (300 bytes)"}')
    else:
        assert found == text


def test_a_number_with_too_many_digits_is_described() -> None:
    assert said(lambda: [10**6000]) == '["a number of about 6,001 digits"]'


def test_a_grouped_frame_shows_its_levels() -> None:
    frame = pd.DataFrame({"a": ["x", "x"], "b": [1, 2], "c": [3, 4]}).groupby(["a", "b"]).agg({"c": ["sum"]})
    assert said(lambda: frame).startswith("| a | b | c sum |\n| --- | --- | --- |\n| x | 1 | 3 |")


@pytest.mark.parametrize(
    "make",
    [
        lambda: itertools.count(),
        lambda: (str(n) for n in itertools.count()),
        lambda: {"endless": itertools.repeat("x")},
        lambda: [{"i": i, "t": "x" * 50} for i in range(100_000)],
        lambda: {str(n): n for n in range(200_000)},
        lambda: np.zeros((1000, 1000)),
        lambda: pd.DataFrame(np.zeros((50_000, 100))),
        lambda: pd.Series(range(10**6)),
        lambda: Huge(),
        lambda: [Huge()] * 50,
    ],
)
def test_what_is_huge_or_endless_is_bounded_and_says_what_is_left_out(make: Callable[[], Any]) -> None:
    artifacts = MemoryArtifacts()
    started = time.monotonic()
    text = said(make, ToolContext(artifacts=artifacts))
    whole = "".join(data.decode() for data in artifacts.files.values()) or text
    assert time.monotonic() - started < 20
    assert len(text) < 8_400
    assert len(whole) < 10_000_000
    assert any(sign in whole for sign in ("more", "are shown", "...", "left out"))


def test_rows_of_a_table_that_is_cut_stay_whole() -> None:
    artifacts = MemoryArtifacts()
    said(lambda: [{"i": i, "t": "x"} for i in range(100_000)], ToolContext(artifacts=artifacts))
    lines = next(iter(artifacts.files.values())).decode().splitlines()
    assert lines[0] == "| i | t |"
    assert all(line.endswith("| x |") for line in lines[2:-1])
    assert lines[-1].endswith(" more")


def test_values_that_contain_themselves_and_deep_ones_end() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    twice = [1]
    assert said(lambda: loop) == '[1, "(itself)"]'
    assert "(deeper than can be shown)" in said(lambda: deep)
    assert said(lambda: [twice, twice]) == "[[1], [1]]"


def test_a_generator_that_fails_tells_the_failure_and_one_of_files_gives_files() -> None:
    def failing() -> Any:
        yield 1
        raise KeyError("inside")

    def files() -> Any:
        yield "Two files."
        yield File("a.txt", "text, not bytes")
        yield File("b.bin", b"12")

    with pytest.raises(ToolError, match="KeyError: 'inside'"):
        said(failing)
    artifacts = MemoryArtifacts()
    assert said(files, ToolContext(artifacts=artifacts)).startswith("Two files.\nSaved file a.txt")
    assert artifacts.files == {"a.txt": b"text, not bytes", "b.bin": b"12"}


def test_an_async_generator_is_read_to_its_end() -> None:
    @tool
    async def count(n: int) -> Any:
        """Counts."""
        for number in range(n):
            yield number

    assert count.call({"n": 3}).observation == "[0, 1, 2]"


def test_what_has_no_text_is_refused_by_its_kind() -> None:
    with pytest.raises(ToolError, match="returned a object, which has no text"):
        said(object)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_is_plain_already(value: Any) -> None:
    assert plain(value) == value


def test_neither_numpy_nor_pandas_is_needed() -> None:
    code = (
        "import sys\nsys.modules['numpy'] = sys.modules['pandas'] = None\nfrom tools.base import tool\n"
        "@tool\ndef give() -> object:\n    'Gives.'\n    return {'a': {1}, 'b': b'x'}\nprint(give.call({}).observation)"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == '{"a": [1], "b": "x"}\n'
