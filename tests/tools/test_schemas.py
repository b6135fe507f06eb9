"""Models, dataclasses, enums, unions and recursive types as parameters: what is shown, what the function gets."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import uuid
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, create_model, field_validator
from typing_extensions import TypedDict

from tools.base import BadArguments, Tool, tool
from tools.kit.mending import mended
from worker.dialects.parsing.schema_text import list_tools, type_text


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Folder(BaseModel):
    files: list[File] = Field(default=[], description="What lies in it.")


class File(BaseModel):
    name: str
    folder: Folder | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Range(TypedDict):
    low: float
    high: float


class Place(NamedTuple):
    lat: float
    lon: float


class Names(RootModel[list[str]]):
    pass


class Picky(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def check(cls, value: int) -> int:
        if value == 13:
            raise RuntimeError("the validator itself broke")
        if value < 0:
            raise ValueError("must not be negative")
        return value


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


def taking(annotation: Any) -> Tool:
    def take(value: object) -> str:
        """Takes a value."""
        return repr(value)

    take.__annotations__ = {"value": annotation, "return": str}
    return tool(take)


NODE = 'Node {"name": string, "children"?: list of Node}'


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Point, '{"x": integer, "y"?: integer}'),
        (list[Point], 'list of {"x": integer, "y"?: integer}'),
        (dict[str, Point], '{string: {"x": integer, "y"?: integer}, …}'),
        (Color, '"red" | "blue"'),
        (Level, "1 | 2"),
        (Color | None, '"red" | "blue" | null'),
        (Node | int, f"{NODE} | integer"),
        (Pet, '{"kind": "cat", "lives": integer} | {"kind": "dog", "name": string}'),
        (Range, '{"low": number, "high": number}'),
        (Place, "[number, number]"),
        (tuple[int, str], "[integer, string]"),
        (list[int | str], "list of (integer | string)"),
        (Names, "list of string"),
        (dt.date, "string (date)"),
        (uuid.UUID, "string (uuid)"),
        (list[Node], f"list of {NODE}"),
        (dict[str, Node], f"{{string: {NODE}, …}}"),
        (
            list[File],
            'list of File {"name": string, "folder"?: Folder {"files"?: list of File}}',
        ),
    ],
)
def test_a_type_is_shown_readably(annotation: Any, text: str) -> None:
    shown = list_tools([taking(annotation)]).splitlines()[0]
    assert shown == f"- take(value: {text})"


def test_a_recursive_model_may_be_all_that_a_tool_takes() -> None:
    @tool
    def tree(root: Node) -> str:
        """Counts a tree."""
        return f"{root.name} has {len(root.children)}: {type(root.children[0]).__name__}"

    assert list_tools([tree]).startswith(f"- tree(name: string, children?: list of {NODE})\n")
    assert tree.call({"name": "a", "children": [{"name": "b"}]}).observation == "a has 1: Node"
    assert tree.call({"name": "a", "children": '[{"name": "b"}]'}).observation == "a has 1: Node"


def test_what_fields_are_for_is_said_below_the_parameter() -> None:
    class Query(BaseModel):
        text: str = Field(description="What to look for.")

    assert "    value.text: What to look for." in list_tools([taking(list[Query])])


def test_schemas_that_multiply_stay_small() -> None:
    model: Any = int
    for depth in range(8):
        fields = {f"f{n}": (model, ...) for n in range(8)}
        model = pydantic_model(f"M{depth}", fields)
    wide = taking(model)
    assert len(json.dumps(wide.parameters)) < 100_000
    text = list_tools([wide])
    assert len(text) < 10_000
    assert '"f7": ' in text


def pydantic_model(name: str, fields: dict[str, Any]) -> Any:
    return create_model(name, **fields)


@pytest.mark.parametrize(
    ("annotation", "given", "got"),
    [
        (Point, {"x": 1}, Point(1, 0)),
        (Point, '{"x": 1, "y": "2"}', Point(1, 2)),
        (list[Point], '[{"x": 1}]', [Point(1)]),
        (list[Point], ['{"x": 1}'], [Point(1)]),
        (dict[str, Point], {"a": '{"x": 1}'}, {"a": Point(1)}),
        (Color, "red", Color.RED),
        (Level, "2", Level.HIGH),
        (Node | int, {"name": "a", "children": '[{"name": "b"}]'}, Node(name="a", children=[Node(name="b")])),
        (Pet, '{"kind": "dog", "name": "Rex"}', Dog(kind="dog", name="Rex")),
        (Range, '{"low": "0.5", "high": 2}', {"low": 0.5, "high": 2.0}),
        (Place, "[1, 2.5]", Place(1.0, 2.5)),
        (Names, '["a"]', Names(["a"])),
        (set[int], "[1, 1, 2]", {1, 2}),
        (dt.date | None, "2026-01-02", dt.date(2026, 1, 2)),
        (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
        (Path, "a/b", Path("a/b")),
        (int, "3", 3),
        (bool, "true", True),
        (float, "0.5", 0.5),
        (int | bool, "true", True),
        (int | list[int], "[1]", [1]),
        (list[str] | None, '["a"]', ["a"]),
        # a text where a text is allowed
        (str, "[1]", "[1]"),
        (str | list[str], '["a"]', '["a"]'),
        (int | str, "3", "3"),
        (Any, "[1]", "[1]"),
        (list[str], ["[1]"], ["[1]"]),
        (dict[str, Any], '{"a": "[1]"}', {"a": "[1]"}),
    ],
)
def test_the_function_gets_what_its_annotation_says(annotation: Any, given: Any, got: Any) -> None:
    take = taking(annotation)
    assert take.call({"value": given}).observation == repr(got)
    again = take.validate(take.validate({"value": given}))
    assert take.call(again).observation == repr(got)


@pytest.mark.parametrize(
    ("annotation", "given", "said"),
    [
        (Point, {"x": "one"}, "`value.x` should be a valid integer"),
        (Point, "one", 'take: `value` should be a dictionary or an instance of Point, got "one"'),
        (Point, "[1, 2]", "`value` should be a dictionary"),
        (list[int], '{"a": 1}', "`value` should be a valid list"),
        (list[int], "1, 2", 'should be a valid list, got "1, 2"'),
        (list[int], "[1, 2", "should be a valid list"),
        (int, "true", "`value` should be a valid integer"),
        (Color, "green", "should be 'red' or 'blue'"),
        (Picky, {"n": -1}, "must not be negative"),
        (Point, {}, 'Allowed arguments: value ({"x": integer, "y"?: integer}, required).'),
    ],
)
def test_what_does_not_fit_is_told_with_what_is_allowed(annotation: Any, given: Any, said: str) -> None:
    of = taking(annotation | None) if annotation is Picky else taking(annotation)
    with pytest.raises(BadArguments) as caught:
        of.validate({"value": given})
    assert said in caught.value.message


def test_a_validator_that_breaks_is_told_and_breaks_nothing() -> None:
    with pytest.raises(BadArguments, match=r"could not be checked.*RuntimeError: the validator itself broke"):
        taking(Picky | None).validate({"value": {"n": 13}})


def test_arguments_as_one_text_of_json_are_read_where_no_parameter_takes_text() -> None:
    @tool
    def add(a: int, b: Point) -> str:
        """Adds."""
        return f"{a + b.x}"

    assert add.call('{"a": "1", "b": "{\\"x\\": 2}"}').observation == "3"
    with pytest.raises(BadArguments, match="plain text cannot say"):
        add.call("1, 2")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


@given(JSON)
def test_where_anything_is_allowed_nothing_is_read_twice(value: Any) -> None:
    assert mended(value, {}, {}) == value


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.integers(), max_size=2), max_size=4))
def test_text_of_a_value_means_the_value(value: list[dict[str, int]]) -> None:
    schema = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}
    assert mended(json.dumps(value), schema, {}) == value
    assert mended([json.dumps(item) for item in value], schema, {}) == value


def test_a_foreign_schema_with_references_is_shown_and_ends() -> None:
    definitions = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    assert type_text({"$ref": "#/$defs/A"}, definitions) == "A"
    assert type_text({"$ref": "#/$defs/Missing"}, definitions) == "any"
    assert mended("[1]", {"$ref": "#/$defs/A"}, definitions) == "[1]"
