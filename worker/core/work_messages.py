"""Messages on the queues carry only ids. A message that is lost, repeated or late changes no result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkMessage:
    """Announces one piece of work. `call` is 0 and `tool` empty for a model call."""

    run_id: str
    step: int
    call: int
    attempt: int
    queue: str
    tool: str = ""
    due_in_s: float = 0.0

    @property
    def task_id(self) -> str:
        """The Celery id, computed from run, step, call and attempt, so that a link to it needs no look-up."""
        return f"{self.run_id}.{self.step}.{self.call}.{self.attempt}"
