"""A validated question with its options: the result of every input format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.core.given import nearest, unfit, unknown_name
from worker.core.records import JsonObject
from worker.questions.template import BadLine, Template

OPTION_FIELDS = ("agent", "model", "dialect")
FIELDS = ("question", "custom_id", *OPTION_FIELDS, "max_steps", "metadata", "expected")
"""The named fields of a line; every other column becomes metadata."""

MAX_NAME_BYTES = 512


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused line and the reason. Lines count from 1."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """One line of input, from which a run is made."""

    line: int
    question: str
    custom_id: str | None = None
    agent: str | None = None
    model: str | None = None
    dialect: str | None = None
    max_steps: int | None = None
    metadata: JsonObject | None = None
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for every line of an input."""

    max_question_bytes: int = 100_000
    template: Template | None = None
    others: bool = True
    """Whether fields with other names are kept as metadata, as for files; otherwise they are refused."""

    @property
    def max_line_bytes(self) -> int:
        """Longer lines are refused unread. JSON may need six bytes for one, and metadata needs room."""
        return 8 * self.max_question_bytes + 1_000_000


def from_fields(line: int, fields: Mapping[str, Any], rules: Rules) -> Question:
    """Checks the fields of one line. Raises `BadLine`."""
    metadata = _metadata(fields, rules.others)
    if rules.template is not None:
        question = rules.template.fill({**metadata, **fields})
    else:
        question = _question(fields)
    _check_size(question, rules.max_question_bytes)
    return Question(
        line,
        question,
        custom_id=_name(fields, "custom_id"),
        agent=_name(fields, "agent"),
        model=_name(fields, "model"),
        dialect=_name(fields, "dialect"),
        max_steps=_max_steps(fields.get("max_steps")),
        metadata=metadata or None,
        expected=_expected(fields.get("expected")),
    )


def _question(fields: Mapping[str, Any]) -> str:
    if fields.get("question") is None:
        raise BadLine(f'has no "question"; it has {_listed(fields)}')
    value = fields["question"]
    if not isinstance(value, str):
        raise BadLine(f'"question" must be text, not {kind_of(value)}')
    return value


def _check_size(question: str, most: int) -> None:
    if not question.strip():
        raise BadLine("the question is empty")
    if "\0" in question:
        raise BadLine("the question contains a NUL character")
    size = len(question) if question.isascii() else len(question.encode())
    if size > most:
        raise BadLine(f"the question has {size:,} bytes; the limit is {most:,} (STEPMILL_MAX_QUESTION_BYTES)")


def _name(fields: Mapping[str, Any], field: str) -> str | None:
    value = fields.get(field)
    if value is None or value == "":
        return None
    if field == "custom_id" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise BadLine(f'"{field}" must be text, not {kind_of(value)}')
    if "\0" in value or len(value.encode()) > MAX_NAME_BYTES:
        raise BadLine(f'"{field}" is longer than {MAX_NAME_BYTES} bytes or contains a NUL character')
    return value


def _max_steps(value: Any) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:9])
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1000:
        raise BadLine(f'"max_steps" is {value!r}; it must be a whole number from 1 to 1000')
    return value


def _expected(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return _without_nul("expected", value) if value else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise BadLine(f'"expected" must be text or a number, not {kind_of(value)}')


def _metadata(fields: Mapping[str, Any], others: bool) -> JsonObject:
    given = fields.get("metadata")
    if given is None or given == "":
        given = {}
    if not isinstance(given, dict):
        raise BadLine(f'"metadata" must be an object, not {kind_of(given)}')
    columns = {name: value for name, value in fields.items() if name not in FIELDS}
    if columns and not others:
        name = next(iter(columns))
        raise BadLine(f"has an unknown field: {unknown_name(name, FIELDS, 'field')} {_ELSEWHERE.get(name, _OWN_DATA)}")
    metadata = {**columns, **given}
    if (reason := unfit(metadata)) is not None:
        raise BadLine(f'"metadata" {reason}')
    return metadata


_OWN_DATA = 'Data of your own goes into "metadata"'
_ELSEWHERE = {
    **dict.fromkeys(("temperature", "max_output_tokens", "time_limit_s", "reasoning_effort", "instructions", "tools"),
                    "That is a setting of its agent: see STEPMILL_AGENTS_FILE"),
    **dict.fromkeys(("budget_usd", "max_failures", "weight", "skip_invalid", "template", "limit", "name"),
                    "That is an option of a batch: see POST /api/batches"),
}  # fmt: skip
"""Where options of agents and batches belong, for the refusal if they are given for a question."""

RESEMBLED = (*FIELDS[1:6], "expected", *(name for name in _ELSEWHERE if "_" in name or name == "temperature"))


def resembles(column: str) -> str | None:
    """Returns the option that a metadata column may have been meant for, or None."""
    return nearest(column, RESEMBLED, 0.85)


def _without_nul(field: str, value: str) -> str:
    if "\0" in value:
        raise BadLine(f'"{field}" contains a NUL character')
    return value


def kind_of(value: Any) -> str:
    """Returns the JSON kind of a value, for a sentence."""
    if isinstance(value, bool):
        return "true or false"
    kinds = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)


def _listed(fields: Mapping[str, Any]) -> str:
    names = [f'"{name}"' for name in list(fields)[:8]]
    return ", ".join(names) + (" and more" if len(fields) > 8 else "") if names else "no fields"
