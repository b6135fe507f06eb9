"""Stores a stream of questions in chunks. If a line is malformed, nothing of the submission is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

from api.budget import FirstCalls
from api.context import Context
from api.problems import BadInputLine, Conflict, EmptyInput
from api.submission_progress import Fingerprint, signs_of_life
from worker.core.config import RunConfig
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.questions import Question, Refused
from worker.store.admission.submit import (
    DuplicateCustomId,
    NewBatch,
    NewRun,
    SubmissionBusy,
    SubmissionGone,
    add_runs,
    discard,
    fingerprint_of,
    open_batch,
    seal,
)
from worker.store.configurations import put_configuration
from worker.store.queries.fleet import tools_of_workers

CHUNK = 1_000
"""Runs stored by one transaction."""
SHOWN = 100
"""Most refused lines that the answer lists."""
MAX_KEYS = 100
"""Most metadata keys that get their own column in tables."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values for every question that does not set its own."""

    agent: str | None = None
    model: str | None = None
    dialect: str | None = None
    max_steps: int | None = None


@dataclass(slots=True)
class Taken:
    """The outcome of a submission."""

    batch_id: str
    existing: bool = False
    taken: int = 0
    refused: list[Refused] = field(default_factory=list)
    refused_count: int = 0
    run_ids: list[str] = field(default_factory=list)
    simulated: bool = False
    metadata_keys: dict[str, None] = field(default_factory=dict)
    more_metadata: bool = False
    scored: bool = False

    def refuse(self, line: int, reason: str) -> None:
        self.refused_count += 1
        if len(self.refused) < SHOWN:
            self.refused.append(Refused(line, reason))

    def options(self) -> JsonObject:
        """Returns what exports and status need to know about the batch without reading its runs."""
        keys = list(self.metadata_keys)
        return {
            "metadata_keys": keys,
            "more_metadata": self.more_metadata,
            "scored": self.scored,
            "simulated": self.simulated,
        }


class Intake:
    """One submission."""

    def __init__(
        self, context: Context, new: NewBatch, defaults: Defaults, fingerprint: Fingerprint, skip_invalid: bool = False
    ) -> None:
        self._context = context
        self._fingerprint = fingerprint
        self._new = new
        self._defaults = defaults
        self._skip_invalid = skip_invalid
        self._configs: dict[tuple[str | int | None, ...], str] = {}
        self._simulated: dict[str, bool] = {}
        self._known_tools: set[str] | None = None
        self._first_calls = FirstCalls(context) if new.budget_usd is not None else None

    def take(self, read: Iterable[Question | Refused], limit: int | None = None) -> Taken:
        """Stores the first `limit` questions. If it raises `UserError`, nothing of the submission is kept."""
        # Shared options are checked first, so that a wrong name there is not reported as an error in line 1.
        self._configuration(Question(0, ""))
        try:
            batch_id, is_new = open_batch(self._context.store, self._new)
        except SubmissionBusy:
            message = "The same submission is still being processed, and this one has waited for it."
            raise Conflict(message, "Send it again later; it will then find the batch.") from None
        taken = Taken(batch_id, existing=not is_new)
        if not is_new:
            _drain(read)
            self._check_same(batch_id)
            return taken
        try:
            with signs_of_life(self._context.store, batch_id) if self._new.submission_key else nullcontext():
                self._fill(taken, iter(read), limit)
        except SubmissionGone:
            hint = "Read the batch again; the later submission continues."
            raise Conflict(
                "This submission gave no sign of life, and the same one, sent again, has replaced it.", hint
            ) from None
        except BaseException:
            discard(self._context.store, batch_id)
            raise
        return taken

    def _check_same(self, batch_id: str) -> None:
        before = fingerprint_of(self._context.store, batch_id)
        if before is not None and before != str(self._fingerprint):
            message = f"This submission_key belongs to batch {batch_id}, whose questions or options are different."
            raise Conflict(message, "Give each submission its own key; send the same key only to repeat a submission.")

    def _fill(self, taken: Taken, read: Iterator[Question | Refused], limit: int | None) -> None:
        while chunk := self._next_chunk(taken, read, CHUNK if limit is None else min(CHUNK, limit - taken.taken)):
            self._store(taken, chunk)
        _drain(read)
        if not taken.taken:
            raise EmptyInput(f"There is no question in the input.{_first(taken)}", "Write one question on each line.")
        first_call_usd = self._first_calls.most_usd if self._first_calls else 0.0
        options = {**self._new.options, **taken.options()}
        if not seal(self._context.store, taken.batch_id, options, first_call_usd, str(self._fingerprint)):
            raise SubmissionGone(taken.batch_id)

    def _next_chunk(self, taken: Taken, read: Iterator[Question | Refused], size: int) -> list[tuple[Question, NewRun]]:
        chunk: list[tuple[Question, NewRun]] = []
        while len(chunk) < size and (item := next(read, None)) is not None:
            if isinstance(item, Refused):
                self._refuse(taken, item.line, item.reason)
                continue
            try:
                digest = self._configuration(item)
            except UserError as error:
                self._refuse(taken, item.line, _as_reason(error))
                continue
            self._note(taken, item)
            if self._first_calls:
                self._first_calls.note(digest, self._context.configuration(digest), item.question)
            taken.simulated = taken.simulated or self._simulated[digest]
            chunk.append((item, NewRun(item.question, digest, item.custom_id, item.metadata, item.expected)))
        return chunk

    def _store(self, taken: Taken, chunk: list[tuple[Question, NewRun]]) -> None:
        store, owner = self._context.store, self._new.owner_id
        try:
            ids = add_runs(store, taken.batch_id, owner, taken.taken + 1, [run for _, run in chunk])
        except DuplicateCustomId as error:
            kept = self._without_duplicates(taken, chunk, set(error.stored))
            ids = add_runs(store, taken.batch_id, owner, taken.taken + 1, [run for _, run in kept]) if kept else []
        taken.taken += len(ids)
        if len(taken.run_ids) < SHOWN:
            taken.run_ids += ids[:SHOWN]

    def _without_duplicates(
        self, taken: Taken, chunk: list[tuple[Question, NewRun]], seen: set[str]
    ) -> list[tuple[Question, NewRun]]:
        """Keeps the first of several lines with the same id; it may be in an earlier chunk."""
        kept = []
        for question, run in chunk:
            if question.custom_id in seen:
                self._refuse(taken, question.line, f"repeats the custom_id {question.custom_id!r}")
                continue
            if question.custom_id is not None:
                seen.add(question.custom_id)
            kept.append((question, run))
        return kept

    def _refuse(self, taken: Taken, line: int, reason: str) -> None:
        if not self._skip_invalid:
            hint = "Nothing was stored. Fix the line, or pass --skip-invalid to skip such lines."
            raise BadInputLine(f"Line {line} {reason}.".replace("..", "."), hint, line)
        taken.refuse(line, reason)

    def _note(self, taken: Taken, question: Question) -> None:
        taken.scored = taken.scored or question.expected is not None
        for key in question.metadata or ():
            if key in taken.metadata_keys:
                continue
            if len(taken.metadata_keys) < MAX_KEYS:
                taken.metadata_keys[key] = None
            else:
                taken.more_metadata = True

    def _configuration(self, question: Question) -> str:
        """Returns the digest of a question's configuration. Raises `UserError` that names what is unknown."""
        base = self._defaults
        agent, model = question.agent or base.agent, question.model or base.model
        dialect, max_steps = question.dialect or base.dialect, question.max_steps or base.max_steps
        key = (agent, model, dialect, max_steps)
        if key not in self._configs:
            config = self._context.agents.configuration(agent, model=model, dialect=dialect, max_steps=max_steps)
            self._check_tools(config)
            if self._first_calls:
                self._first_calls.check(config)
            if len(self._configs) > 10_000:
                self._configs.clear()
            digest = self._configs[key] = put_configuration(self._context.store, config)
            self._simulated[digest] = config.simulated
        return self._configs[key]

    def _check_tools(self, config: RunConfig) -> None:
        own = self._context.tools.tools
        if all(name in own for name in config.tools):
            return  # the usual case: no need to read which tools workers have
        if self._known_tools is None:
            self._known_tools = set(own) | tools_of_workers(self._context.store)
        unknown = [name for name in config.tools if name not in self._known_tools]
        if unknown:
            known = ", ".join(sorted(self._known_tools))
            message = f"Agent {config.name!r} uses the tool {unknown[0]!r}, which neither this API nor a worker has."
            raise UserError(message, f"Known tools: {known}. Load your own with STEPMILL_TOOL_MODULES.")


def _as_reason(error: UserError) -> str:
    return f"is refused: {error.message.rstrip('.')}. {error.hint}".strip().rstrip(".")


def _first(taken: Taken) -> str:
    if not taken.refused:
        return ""
    first = taken.refused[0]
    return f" {taken.refused_count} lines were refused; line {first.line} {first.reason}."


def _drain(read: Iterable[object]) -> None:
    """Reads and discards the rest, because a client that is still sending would miss the answer."""
    deque(read, maxlen=0)
