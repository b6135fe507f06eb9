"""Reads a chat request: the question, the tools it lists, and what tools and the engine have sent since.

A message after the question is one of three: a tool's result (its role is `tool`, or it begins with
`Observation:`); a correction of the reply before it (it mentions the reply, or shows how to write one); or the
next question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.practice.instructions import form_of, listed_tools, native_tools
from worker.practice.records import Conversation, Observation

_OBSERVATION = re.compile(r"\s*Observation\s*:\s*", re.IGNORECASE)
_TAGGED = re.compile(r"<(\w+)>(.*)</\1>(?:\n\n(.*))?", re.DOTALL)
"""A result between tags, with which engines mark data; text after the closing tag is the engine's own."""
_ABOUT_THE_REPLY = re.compile(r"\byour (?:last )?reply\b|\bThought:|\btool[_ ]calls?\b", re.IGNORECASE)
_ANSWER_NOW = re.compile(r"\banswer now\b", re.IGNORECASE)
_FAILED = re.compile(
    r"\b(?:\w*error|\w*exception|traceback|failed|failure|cannot|(?:could|did|was|is) not|unknown|missing|stopped"
    r"|timed out|no (?:such|tool|result))\b",
    re.IGNORECASE,
)
"""Words of failure and denial at the beginning of a result: only these distinguish failures."""
_BEGINNING_CHARS = 200
_QUESTION_CHARS = 4000


@dataclass(frozen=True, slots=True)
class _Heard:
    """One user or tool message: the tool's result, if any, and what the engine adds."""

    result: str | None
    words: str

    @property
    def corrects(self) -> bool:
        return bool(_ABOUT_THE_REPLY.search(self.words))

    @property
    def calls_for_answer(self) -> bool:
        return bool(_ANSWER_NOW.search(self.words))

    @property
    def asks(self) -> bool:
        return self.result is None and not self.corrects and _split(self.words)[0] != ""


def read(body: Mapping[str, Any]) -> Conversation:
    """Reads the conversation in a chat completions request. Never raises: odd content is read as far as possible."""
    messages = [message for message in body.get("messages", ()) if isinstance(message, dict)]
    prompt = "\n".join(_text(message) for message in messages if message.get("role") in ("system", "developer"))
    heard = [_heard(message) for message in messages if message.get("role") in ("user", "tool")]
    asked = max((index for index, one in enumerate(heard) if one.asks), default=0)
    question, urging = _split(heard[asked].words) if heard else ("", "")
    since = heard[asked + 1 :]
    native = bool(body.get("tools"))
    if not prompt and (native or form_of(question) != "plain"):
        prompt, _, question = question.rpartition("\n\n")
    return Conversation(
        question=re.sub(r"^\s*Question\s*:", "", question, flags=re.IGNORECASE).strip()[:_QUESTION_CHARS],
        form="native" if native else form_of(prompt),
        tools=native_tools(body["tools"]) if native else listed_tools(prompt),
        observations=tuple(_observation(one.result) for one in since if one.result is not None),
        told_to_answer=since[-1].calls_for_answer if since else bool(urging),
        corrected=bool(since) and since[-1].corrects,
    )


def _heard(message: Mapping[str, Any]) -> _Heard:
    text = _text(message)
    label = _OBSERVATION.match(text)
    if label is None and message.get("role") != "tool":
        return _Heard(None, text)
    content = text[label.end() :] if label else text
    if tagged := _TAGGED.fullmatch(content):
        return _Heard(tagged[2].strip(), tagged[3] or "")
    return _Heard(*_split(content))


def _split(text: str) -> tuple[str, str]:
    """Splits off the last paragraph if it asks to answer now."""
    before, _, last = text.rpartition("\n\n")
    return (before.strip(), last) if _ANSWER_NOW.search(last) else (text.strip(), "")


def _observation(result: str) -> Observation:
    return Observation(result, bool(_FAILED.search(result[:_BEGINNING_CHARS].partition("\n")[0])))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else json.dumps(content)
