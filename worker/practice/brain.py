"""Decides what the practice model does next in a conversation. Pure, and computes nothing itself."""

from __future__ import annotations

import re

from worker.practice import topics
from worker.practice.phrases import language_of, phrase
from worker.practice.places import places_in
from worker.practice.records import Act, Conversation, Intent, Observation, Plan, Say
from worker.practice.topics import named
from worker.practice.topics.asking import Question, unknown

_NEXT_QUESTION = re.compile(r",\s+and\s+(?=(?:what|which|how|when)\b)", re.IGNORECASE)


def think(conversation: Conversation) -> Intent:
    """Returns the next tool calls, or the answer. The same conversation always gives the same intent."""
    text = conversation.question
    question = Question(text, language_of(text), conversation.tools, conversation.form == "native")
    intent = _replay(_plan(question), conversation.observations)
    if conversation.told_to_answer and isinstance(intent, Act):
        return _best_so_far(question, conversation.observations)
    return intent


def _plan(question: Question) -> Plan:
    """Returns the first plan that fits: the calls spelled out, each part by itself, the question as a whole."""
    return named.plan(question) or _plan_of_parts(question) or topics.plan(question) or unknown(question)


def _plan_of_parts(question: Question) -> Plan | None:
    """Plans `What is …, and what is …?` as two questions, if each is understood."""
    parts = _NEXT_QUESTION.split(question.text)
    plans = [topics.plan(question.part(_in_place(part, question.text))) for part in parts]
    understood = [plan for plan in plans if plan is not None]
    return _one_after_another(understood) if len(understood) == len(parts) else None


def _in_place(part: str, whole: str) -> str:
    """Replaces `there` in a part by the place that the whole question names."""
    places = places_in(whole)
    return f"{part} (in {places[0].said})" if places and re.search(r"\bthere\b", part) else part


def _one_after_another(plans: list[Plan]) -> Plan:
    answers: list[str] = []
    for plan in plans:
        said = yield from plan
        answers.append(said.answer)
    return Say(said.thought, "\n".join(answers))


def _replay(plan: Plan, observations: tuple[Observation, ...]) -> Intent:
    """Runs the plan up to its next step, sending it the results of each act's calls."""
    left = observations
    try:
        act = next(plan)
        while len(left) >= len(act.calls):
            seen, left = left[: len(act.calls)], left[len(act.calls) :]
            act = plan.send(seen)
    except StopIteration as stop:
        say: Say = stop.value
        return say
    return act


def _best_so_far(question: Question, observations: tuple[Observation, ...]) -> Say:
    good = [one.text for one in observations if not one.failed]
    if not good:
        return Say(phrase(question.language, "unknown"), phrase(question.language, "unknown"))
    return question.say("partial", good[-1])
