"""Schemas of the two request bodies that are read as streams; `worker.questions` validates their content."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from api.options import BatchOptions, RunOptions
from worker.core.records import JsonObject

Question = Annotated[str, Field(min_length=1, pattern=r"\S")]
Name = Annotated[str, Field(max_length=512)]

ASKED = {"question": "What is (15 + 7) * 3?"}
SEVERAL = {"name": "sums", "runs": ["What is 2 + 2?", {"question": "What is 3 * 3?", "custom_id": "nine"}]}
LINES = '{"question": "What is 4 * 4?", "custom_id": "sixteen"}\n'
TABLE = "question,city\nHow many people live there?,Rome\n"


class GivenQuestion(BaseModel):
    """A question with its own options."""

    model_config = ConfigDict(extra="forbid")

    question: Question
    custom_id: Name | int | None = None
    agent: Name | None = None
    model: Name | None = None
    dialect: Name | None = None
    max_steps: int | None = Field(None, ge=1, le=1000)
    metadata: JsonObject | None = Field(None, description="data of your own, at most 32 levels deep")
    expected: str | float | None = None


class GivenBatch(BatchOptions):
    """Questions, and the options of their batch. With `template`, each item has the columns that the template names."""

    runs: list[Question | GivenQuestion | JsonObject] = Field(min_length=1)


class GivenRun(RunOptions, GivenQuestion):
    """One question, and the options of its submission."""


SCHEMAS: tuple[type[BaseModel], ...] = (GivenBatch, GivenRun)
"""Schemas that `api.schema` adds to those that FastAPI finds."""


def _body(content: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


def _named(model: type[BaseModel], example: Any) -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}, "example": example}


def _text(description: str, example: str) -> dict[str, Any]:
    return {"schema": {"type": "string", "description": description}, "example": example}


RUN_BODY = _body({"application/json": _named(GivenRun, ASKED)})


def batch_body(forms: dict[str, str]) -> dict[str, Any]:
    """Returns the schema of a submission's body, and of the query parameters that hold its options for line streams.

    `forms` maps each content type to its input format.
    """
    said = {
        "jsonl": ("one JSON object a line", LINES),
        "csv": ("a table with a column `question`, or any columns and a `template`", TABLE),
        "plain": ("one question a line", "What is 4 * 4?\n"),
        "auto": ("any of these forms; the first line decides", LINES),
    }
    streams = {kind: _text(*said[form]) for kind, form in forms.items() if kind}
    return _body({"application/json": _named(GivenBatch, SEVERAL), **streams}) | {"parameters": _options()}


def _options() -> list[dict[str, Any]]:
    fields = BatchOptions.model_json_schema(ref_template="#/components/schemas/{model}")["properties"]
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": schema,
            "description": "For a stream of lines only; a JSON body contains its options.",
        }
        for name, schema in fields.items()
    ]
