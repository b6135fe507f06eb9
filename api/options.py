"""The options of a submission, from a JSON body or from query parameters."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError

from api.intake import Defaults
from api.problems import Problem
from worker.core.fairness import MAX_WEIGHT, MIN_WEIGHT
from worker.core.given import Given, nearest, shown
from worker.core.states import Klass
from worker.questions import Rules, Template
from worker.settings import Settings
from worker.store.admission.submit import LOCAL_OWNER, NewBatch

M = TypeVar("M", bound=BaseModel)

MOST_RUNS = 1_000_000_000
"""Most runs of a batch, so that counts fit every database's integers."""
_COUNT = re.compile(r"[0-9]{1,10}")


class BatchOptions(Given):
    """The options of a batch."""

    name: str = Field("", max_length=200)
    agent: str | None = None
    model: str | None = None
    dialect: str | None = None
    max_steps: int | None = Field(None, ge=1, le=1000)
    max_failures: int | str | None = None
    weight: float = Field(1.0, ge=MIN_WEIGHT, le=MAX_WEIGHT)
    budget_usd: float | None = Field(None, gt=0, le=1e9)
    limit: int | None = Field(None, ge=1, le=MOST_RUNS)
    skip_invalid: bool = False
    submission_key: str | None = Field(None, min_length=1, max_length=200)
    template: str | None = Field(None, min_length=1, max_length=100_000)
    delimiter: str | None = Field(None, pattern=r'^[^"\r\n]$')
    klass: Klass = Klass.BATCH

    def defaults(self) -> Defaults:
        return Defaults(self.agent or None, self.model or None, self.dialect or None, self.max_steps)

    def rules(self, settings: Settings, others: bool = True) -> Rules:
        """Returns the rules for every line. Raises `Problem` for an invalid template."""
        try:
            template = Template(self.template) if self.template else None
        except ValueError as error:
            raise Problem(str(error), "Write columns as {title}; {{ and }} are braces.") from error
        return Rules(settings.max_question_bytes, template, others)

    def new_batch(self) -> NewBatch:
        count, percent = parse_max_failures(self.max_failures)
        options, key = self._said(), self.submission_key
        return NewBatch(LOCAL_OWNER, self.name, self.klass, self.weight, key, count, percent, options, self.budget_usd)

    def _said(self) -> dict[str, Any]:
        """Returns the options that the client set; they are stored with the batch."""
        kept = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        kept.pop("submission_key", None)
        return kept


class RunOptions(Given):
    """The options of a single run; its question is in the same body."""

    klass: Klass = Klass.INTERACTIVE
    submission_key: str | None = Field(None, min_length=1, max_length=200)


def checked(model: type[M], given: dict[str, Any]) -> M:
    """Returns the options as an instance of `model`; an invalid one is refused like any other request value."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error


def parse_max_failures(value: int | str | None) -> tuple[int | None, float | None]:
    """Returns `N` or `P%` as a count or a percentage. Raises `Problem` for anything else."""
    if value is None or value == "":
        return None, None
    text = str(value).strip()
    try:
        if text.endswith("%"):
            percent = float(text[:-1])
            if not 0 <= percent <= 100:
                raise ValueError
            return None, percent
        if not _COUNT.fullmatch(text) or int(text) > MOST_RUNS:
            raise ValueError
        return int(text), None
    except ValueError:
        message = f"max_failures is {shown(value)}; it must be a count such as 25 or a share such as 5%."
        raise Problem(message) from None


def names_among(text: str, known: Collection[str], what: str) -> tuple[str, ...]:
    """Returns the names in a comma-separated list. Raises `Problem` for an unknown one."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in known:
            meant = nearest(name, known)
            hint = f"Did you mean {meant!r}? " if meant else ""
            hint += f"Known: {', '.join(sorted(known))}."
            raise Problem(f"{what} names {shown(name)}, which does not exist.", hint)
    return names
