"""Prints a run as it happens: thoughts, actions, observations, and finally the answer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

from worker.cli.events import Event
from worker.cli.output import duration, money, tokens
from worker.core.records import JsonObject
from worker.terminal import echo

LABEL_WIDTH = len("Observation: ")
PATIENCE_S = 2.0
"""A shorter wait is normal and not printed."""
NUMBERS = re.compile(r"\d+")


class Narrator:
    """Prints events in the order in which they arrive."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waits_for = ""
        self._since = 0.0
        self._told = False

    def tell(self, event: Event) -> None:
        """Prints what is new in an event. Ignores unknown kinds, because later versions may add some."""
        handler = getattr(self, f"_{event.kind}", None)
        if handler is not None:
            handler(event.data)

    def _status(self, data: JsonObject) -> None:
        """Prints a reason to wait once, after it has held for a while; numbers in it may keep changing."""
        waiting = data.get("waiting") or ""
        reason = NUMBERS.sub("", waiting)
        if reason != self._waits_for:
            self._waits_for, self._since, self._told = reason, self._clock(), False
        if waiting and not self._told and self._clock() - self._since >= PATIENCE_S:
            self._told = True
            say("Waiting", waiting, "yellow")

    def _step(self, data: JsonObject) -> None:
        echo(f"Step {data['step']}", dim=True)
        if data.get("thought"):
            say("Thought", data["thought"], "cyan")
        for call in data.get("calls") or ():
            say("Action", f"{call['tool']} {written(call['args'])}", "magenta")
        if data.get("notice"):
            say("Notice", data["notice"], "yellow")

    def _observation(self, data: JsonObject) -> None:
        colour = "green" if data.get("outcome") in (None, "ok") else "red"
        say("Observation", data["observation"], colour)

    def _attempt_failed(self, data: JsonObject) -> None:
        what = "model call" if not data.get("call") else "tool call"
        say("Failed", f"{what}, attempt {data['attempt']}: {data.get('error') or data['outcome']}", "red")

    def _end(self, data: JsonObject) -> None:
        tell_result(data)


def tell_result(record: JsonObject) -> None:
    """Prints the answer, or why there is none, and what it took."""
    if record["status"] == "succeeded":
        say("Answer", record["answer"], "bright_green")
    else:
        say("Ended", ended_because(record), "red")
        if record.get("partial_answer"):
            say("Last words", record["partial_answer"], "yellow")
    echo(took(record), dim=True)


def ended_because(record: JsonObject) -> str:
    error = record.get("error")
    return f"{record['status']}: {error['message']} ({error['code']})" if error else str(record["status"])


def took(record: JsonObject) -> str:
    """Returns one line with steps, tokens, cost and ids."""
    parts = [f"{record['steps']} steps", f"{tokens(record['usage']):,} tokens"]
    if not record.get("simulated"):
        parts.append(money(record["cost_usd"]))
    if record.get("reserved_usd"):
        parts.append(f"up to {money(record['reserved_usd'])} more of unknown usage")
    if record["wasted"]["tokens"]:
        parts.append(f"{record['wasted']['tokens']:,} tokens wasted by repeats")
    if record["wasted"].get("attempts"):
        parts.append(f"{record['wasted']['attempts']} attempts, {duration(record['wasted']['seconds'])}, for nothing")
    answered_by = "the practice model" if record.get("simulated") else str(record["model"])
    return " · ".join([*parts, f"answered by {answered_by}", record["run_id"]])


def say(label: str, text: str, colour: str) -> None:
    """Prints a labelled paragraph, with further lines indented below the first."""
    head = f"{label}:".ljust(LABEL_WIDTH)
    body = str(text).replace("\n", "\n" + " " * LABEL_WIDTH)
    echo(body, label=head, fg=colour, bold=True)


def written(args: object) -> str:
    """Formats arguments as the model wrote them."""
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
