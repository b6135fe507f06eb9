"""The practice model's brain: from a conversation to what it does next. Pure, and it computes nothing itself."""

from __future__ import annotations

import re

from worker.simulator import topics
from worker.simulator.phrases import language_of, phrase
from worker.simulator.places import places_in
from worker.simulator.records import Act, Conversation, Intent, Observation, Plan, Say
from worker.simulator.topics.asking import Question, unknown

# Where one message asks for two things. A bare "and" is not among them: it joins more often than it separates.
_BREAK = re.compile(
    r"(?<=[?？!])\s*(?=\S)|(?<=[.。])\s+(?=[A-ZÀ-Ý¿])|(?<=。)(?=\S)|;\s+|；"
    r"|,?\s+(?:and also|and what|y también|und außerdem|sowie|et aussi|e anche|e também)\s+|,\s+(?:and|y|und|et|e)\s+"
    r"|[，,、]?(?:以及|还有|另外|それと|そして)"
)

_THERE = re.compile(r"\b(?:there|allí|allá|dort|là-bas|lì|там)\b|那里|那边|そこ", re.IGNORECASE)

_STOPPED = re.compile(r"\bthe run was stopped (?:before it ended|while it was carried out)\.")
"""What a conversation that goes on after a cancel says of the calls that were open."""


def think(conversation: Conversation) -> Intent:
    """The next act, or the answer. The same conversation always gives the same intent."""
    question = Question(conversation.question, language_of(conversation.question), conversation.tools)
    intent = _replay(_plan(question), conversation)
    if conversation.told_to_answer and isinstance(intent, Act):
        return _best_so_far(question, conversation.observations)
    return intent


def _plan(question: Question) -> Plan:
    parts = [part.strip() for part in _BREAK.split(question.text) if part and part.strip()]
    if len(parts) > 1 and topics.plan_named(question) is None:
        plans = [topics.plan_specific(question.part(_in_place(part, question.text))) for part in parts]
        known = [plan for plan in plans if plan is not None]
        if len(known) == len(parts):
            return _together(known)
    return topics.plan_specific(question) or topics.plan_general(question) or unknown(question)


def _in_place(part: str, whole: str) -> str:
    """A part that says `there` gets the place that the whole question names."""
    places = places_in(whole)
    return f"{part} ({places[0].said})" if places and not places_in(part) and _THERE.search(part) else part


def _together(plans: list[Plan]) -> Plan:
    """Several independent plans in step with each other: their calls are made side by side."""
    waiting: dict[int, Act] = {}
    said: dict[int, Say] = {}
    sent: dict[int, tuple[Observation, ...] | None] = dict.fromkeys(range(len(plans)))
    while len(said) < len(plans):
        for index, observations in sent.items():
            intent = _advance(plans[index], observations)
            if isinstance(intent, Say):
                said[index] = intent
                waiting.pop(index, None)
            else:
                waiting[index] = intent
        if not waiting:
            break
        sent = _share(waiting, (yield _merged(waiting)))
    answers = list(dict.fromkeys(said[index].answer for index in sorted(said)))
    return Say(said[0].thought, "\n".join(answers))


def _merged(waiting: dict[int, Act]) -> Act:
    calls = tuple(call for index in sorted(waiting) for call in waiting[index].calls)
    thoughts = dict.fromkeys(waiting[index].thought for index in sorted(waiting))
    return Act(" ".join(thoughts), calls)


def _share(waiting: dict[int, Act], observed: tuple[Observation, ...]) -> dict[int, tuple[Observation, ...] | None]:
    shares: dict[int, tuple[Observation, ...] | None] = {}
    taken = 0
    for index in sorted(waiting):
        count = len(waiting[index].calls)
        shares[index] = observed[taken : taken + count]
        taken += count
    return shares


def _advance(plan: Plan, observations: tuple[Observation, ...] | None) -> Intent:
    try:
        return next(plan) if observations is None else plan.send(observations)
    except StopIteration as stop:
        say: Say = stop.value
        return say


def _replay(plan: Plan, conversation: Conversation) -> Intent:
    """Feeds the plan what was observed so far; forms with one call a reply ask for side-by-side calls one by one."""
    left = list(conversation.observations)
    intent = _advance(plan, None)
    while isinstance(intent, Act):
        count = len(intent.calls)
        at_once = count if conversation.form == "native" else 1
        got, left = _results(left, count, at_once)
        if len(got) < count:
            return Act(intent.thought, tuple(intent.calls[n] for n in range(count) if n not in got)[:at_once])
        intent = _advance(plan, tuple(got[n] for n in range(count)))
    return intent


def _results(left: list[Observation], count: int, at_once: int) -> tuple[dict[int, Observation], list[Observation]]:
    """What each of `count` calls gave back, and what was observed after; a call without result was asked again."""
    got: dict[int, Observation] = {}
    while left and len(got) < count:
        asked = [number for number in range(count) if number not in got][:at_once]
        given = zip(asked, left, strict=False)
        got.update({number: seen for number, seen in given if not _STOPPED.search(seen.text)})
        left = left[len(asked) :]
    return got, left


def _best_so_far(question: Question, observations: tuple[Observation, ...]) -> Say:
    good = [o.text for o in observations if not o.failed]
    if not good:
        return Say(phrase(question.language, "unknown"), phrase(question.language, "unknown"))
    return Say(phrase(question.language, "done"), phrase(question.language, "partial", good[-1]))
