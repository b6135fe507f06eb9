"""Runs against every quirk at once: one practice model, one fleet, one database, and what became of each question."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from tests.engine.fleet import Fleet
from worker.llm.endpoint import EndpointSettings
from worker.practice.quirks import QUIRKS, Quirk
from worker.practice.quirks.errors import TABLE
from worker.store.schema.tables import attempts, endpoints, runs, tool_calls

KEY = "sk-quirky-4f1c0a7be2d95c36"
DIALECTS = ("native", "react_json")
CALLS = [
    ("calculator", {"expression": "6 * 7"}),
    ("count_characters", {"text": "strawberry", "character": "r"}),
]
ANSWER = '6 * 7 = 42\n"r" occurs 3 times in the text.'
QUESTION = "Use calculator(expression='6 * 7') then count_characters(text='strawberry', character='r')."
MARKED = f"{QUESTION} {{{{"
LONG = "Use recite(words=700) then calculator(expression='6 * 7')."
MOST_CALLS, MOST_REFUSED = 16, 6
SOON_S = 60.0
"""A pause that ends sooner is a wait: the run goes on by itself."""


@dataclass(frozen=True, slots=True)
class Row:
    """A question that meets a quirk; `address` may name a sample."""

    address: str
    dialect: str
    question: str = QUESTION

    @property
    def quirk(self) -> Quirk:
        return QUIRKS[self.address.partition(".")[0]]

    @property
    def expected(self) -> list[str]:
        """The ends that are right."""
        quirk = self.quirk
        return ((quirk.native_end if self.dialect == "native" else "") or quirk.end).split("|")

    @property
    def words(self) -> set[str]:
        """What its error may say, in words of some length; none where the end is no error of the table."""
        tables = tomllib.loads(TABLE.read_text(encoding="utf-8"))
        samples = tables.get(self.quirk.name, {}).get("samples", ())
        return {word for sample in samples for word in re.findall(r"[^\W\d_]{4,}", sample["body"])}

    @property
    def model(self) -> str:
        return f"quirky-{self.dialect}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row."""

    end: str
    answer: str | None
    said: str
    requests: list[dict[str, Any]]
    calls: list[tuple[str, Any]]
    used: tuple[int, int]
    """Prompt and completion tokens of all attempts, as far as they are known."""


def rows_of(addresses: Iterable[str]) -> list[Row]:
    """A row for each dialect; the question is one that brings the quirk out."""
    marked = ("template-marked", "refused", "filtered", "forbidden-marked")
    questions = {"context": LONG, **dict.fromkeys(marked, MARKED)}
    names = [(address, address.partition(".")[0]) for address in addresses]
    return [Row(address, dialect, questions.get(name, QUESTION)) for address, name in names for dialect in DIALECTS]


class Table:
    """All rows submitted to one fleet."""

    def __init__(self, fleet: Fleet, rows: Sequence[Row]) -> None:
        self._fleet = fleet
        self._outcomes: dict[Row, Outcome] = {}
        self._batches = {row: self._submit(row) for row in rows}
        self._bystanders = {row: self._submit(row, QUESTION) for row in rows if row.question == MARKED}

    def _url(self, row: Row) -> str:
        query = f"?{row.quirk.query}" if row.quirk.query else ""
        return f"{self._fleet.practice.url}/quirk/{row.address}/v1{query}"

    def _submit(self, row: Row, question: str = "") -> str:
        return self._fleet.submit(
            [question or row.question], dialect=row.dialect, model=row.model, base_url=self._url(row),
            api_key_env="OPENAI_API_KEY", simulated=False, max_steps=9, max_model_failures=4,
            tools=["calculator", "count_characters", "recite"],
        )  # fmt: skip

    def outcome(self, row: Row, timeout_s: float = 60.0) -> Outcome:
        """Waits until the run has ended, or its endpoint is paused for long; what came of it is kept."""
        if row not in self._outcomes:
            self._outcomes[row] = self._await(row, timeout_s)
        return self._outcomes[row]

    def _await(self, row: Row, timeout_s: float) -> Outcome:
        self._fleet.wait(f"{row.address} in {row.dialect} has come to an end", lambda: self._end(row), timeout_s)
        run, pause = self._run(row), self._pause(row)
        said = (pause if self._end(row) == "paused" else run.error_message) or ""
        made = select(tool_calls).where(tool_calls.c.run_id == run.id).order_by(tool_calls.c.step, tool_calls.c.call)
        tokens = {row.token for row in self._fleet.rows(select(attempts).where(attempts.c.run_id == run.id))}
        requests = [entry for token in tokens for entry in self._fleet.practice.ledger(token)]
        calls = [(call.tool, call.args) for call in self._fleet.rows(made)]
        return Outcome(self._end(row) or "", run.answer, said, requests, calls, self._used(run.id))

    def _used(self, run_id: str) -> tuple[int, int]:
        sums = [
            func.coalesce(func.sum(column), 0) for column in (attempts.c.prompt_tokens, attempts.c.completion_tokens)
        ]
        (row,) = self._fleet.rows(select(*sums).where(attempts.c.run_id == run_id))
        return row[0], row[1]

    def bystander(self, row: Row) -> str:
        """The end of another question to the same endpoint."""
        return next(iter(self._fleet.finish(self._bystanders[row])))

    def _run(self, row: Row) -> Any:
        return self._fleet.rows(select(runs).where(runs.c.batch_id == self._batches[row]))[0]

    def _end(self, row: Row) -> str | None:
        run = self._run(row)
        if run.state in ("succeeded", "failed", "cancelled"):
            return "answered" if run.state == "succeeded" else f"error:{run.error_code}"
        return "paused" if self._pause(row) else None

    def _pause(self, row: Row) -> str | None:
        """Why its endpoint is paused, if that lasts."""
        endpoint = EndpointSettings(row.model, self._url(row)).endpoint_id
        for found in self._fleet.rows(select(endpoints).where(endpoints.c.id == endpoint)):
            lasts = found.paused_until is None or found.paused_until > found.changed_at + SOON_S
            return found.paused_reason if found.paused_reason and lasts else None
        return None
