"""How topics call tools: the question with its tools, and calls that are repeated once if they fail."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace

from worker.practice.phrases import phrase
from worker.practice.records import Act, Call, Observation, Plan, Say, ToolSpec

Asking = Generator[Act, tuple[Observation, ...], Observation]


@dataclass(frozen=True, slots=True)
class Question:
    """A question's text, its language, the tools that may be used, and whether a reply may contain several calls."""

    text: str
    language: str
    tools: Mapping[str, ToolSpec]
    many_calls: bool = False

    def part(self, text: str) -> Question:
        """Returns a part of the question as a question of its own."""
        return replace(self, text=text)

    def has(self, *tools: str) -> bool:
        return all(tool in self.tools for tool in tools)

    def text_call(self, tool: str, value: str, *names: str) -> Call:
        """Returns a call whose one argument is the first of `names` that the tool lists."""
        return Call(tool, {self.tools[tool].pick(*names): value})

    def act(self, *calls: Call) -> Act:
        names = ", ".join(dict.fromkeys(call.tool for call in calls))
        return Act(phrase(self.language, "act", names), calls)

    def say(self, saying: str, x: str = "") -> Say:
        return self.answer(phrase(self.language, saying, x))

    def answer(self, text: str) -> Say:
        return Say(phrase(self.language, "done"), text)


def unknown(question: Question) -> Plan:
    """Says that the answer is unknown, without a call."""
    yield from ()
    return Say(phrase(question.language, "unknown"), phrase(question.language, "unknown"))


def ask(question: Question, call: Call) -> Asking:
    """Makes one call; repeats it once if it fails."""
    (observed,) = yield question.act(call)
    if observed.failed:
        (observed,) = yield question.act(call)
    return observed


def ask_all(question: Question, calls: tuple[Call, ...]) -> Generator[Act, tuple[Observation, ...], list[Observation]]:
    """Makes independent calls, at once if a reply may contain several; repeats those that fail once."""
    if question.many_calls:
        observed = list((yield question.act(*calls)))
        for index, call in enumerate(calls):
            if observed[index].failed:
                (observed[index],) = yield question.act(call)
        return observed
    observed = []
    for call in calls:
        one = yield from ask(question, call)
        observed.append(one)
    return observed


def first_line(observed: Observation) -> str:
    return next((line.strip() for line in observed.text.splitlines() if line.strip()), "")


def numbers_in(text: str) -> list[str]:
    return re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", text)
