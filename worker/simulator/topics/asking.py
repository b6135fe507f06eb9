"""How a topic asks: the question with its tools, and calls with a second way for when the first fails."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from worker.simulator.phrases import phrase
from worker.simulator.records import Act, Call, Observation, Plan, Say, ToolSpec

Asking = Generator[Act, tuple[Observation, ...], Observation]


@dataclass(frozen=True, slots=True)
class Question:
    """A question's text, its language, and the tools that may be used for it."""

    text: str
    language: str
    tools: Mapping[str, ToolSpec]

    def part(self, text: str) -> Question:
        """A part of the question as a question of its own."""
        return replace(self, text=text)

    def has(self, *tools: str) -> bool:
        return all(tool in self.tools for tool in tools)

    def call(self, tool: str, **args: Any) -> Call:
        """A call with the arguments that are not None; names as the tool lists them are the caller's care."""
        return Call(tool, {name: value for name, value in args.items() if value is not None})

    def text_call(self, tool: str, value: str, *names: str) -> Call:
        """A call whose one argument is the first of `names` that the tool lists."""
        return Call(tool, {self.tools[tool].pick(*names): value})

    def say(self, key: str, x: str = "") -> Say:
        return Say(phrase(self.language, "done"), phrase(self.language, key, x))

    def answer(self, text: str) -> Say:
        return Say(phrase(self.language, "done"), text)


def unknown(question: Question) -> Plan:
    """Says that the answer is not known, without a call."""
    yield from ()
    return Say(phrase(question.language, "unknown"), phrase(question.language, "unknown"))


def ask(question: Question, call: Call, otherwise: Call | None = None) -> Asking:
    """One call; where it fails another way, once: `otherwise`, or a web search for the question, or the call again."""
    (observed,) = yield Act(phrase(question.language, "act", call.tool), (call,))
    if not observed.failed:
        return observed
    second = otherwise or _second_way(question, call)
    (observed,) = yield Act(phrase(question.language, "retry", second.tool), (second,))
    return observed


def ask_all(question: Question, calls: tuple[Call, ...]) -> Generator[Act, tuple[Observation, ...], list[Observation]]:
    """Independent calls side by side; those that failed are asked once more, another way."""
    names = ", ".join(dict.fromkeys(call.tool for call in calls))
    observed = list((yield Act(phrase(question.language, "act", names), calls)))
    for index, call in enumerate(calls):
        if observed[index].failed:
            second = _second_way(question, call)
            (observed[index],) = yield Act(phrase(question.language, "retry", second.tool), (second,))
    return observed


def _second_way(question: Question, call: Call) -> Call:
    if call.tool != "web_search" and question.has("web_search"):
        return question.text_call("web_search", question.text, "query")
    return call


def first_line(observed: Observation) -> str:
    """The observation's first line, without a closing full stop, ready to stand in a sentence."""
    return next((line.strip() for line in observed.text.splitlines() if line.strip()), "").rstrip(".。")
