"""Reads from an endpoint's error which part of a request it refuses, and changes the request accordingly. Pure.

Readings may be liberal: a change is remembered only if the changed request was answered normally.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worker.core.errors import CallEnded, ModelRejected, OutputLimitTooLarge, ToolsUnsupported, UnknownError
from worker.core.provider_extras import echoed, without_echo
from worker.core.records import Adaptation, JsonObject, Message
from worker.llm.errorbody import ErrorBody

MAX_ADAPTATIONS = 10
"""A request that was changed this often keeps its error."""

LEAST_OUTPUT_TOKENS = 64
"""A limit is not lowered below this: no step needs fewer tokens."""

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
"""Two names for one limit. It may be renamed or lowered, never dropped: money reservations rely on it."""

SAID_BESIDE_CALLS = "I call a tool."
"""The content of a message with calls, for endpoints that refuse one without text."""

NEEDED = frozenset({"model", "messages", "tools", *OUTPUT_LIMITS})
"""Fields that a request cannot do without."""


# ---- how a request is changed ----


def adapt(body: JsonObject, adaptations: Iterable[Adaptation]) -> JsonObject:
    """Returns the body in the form that its endpoint takes; does not change the given one."""
    for one in adaptations:
        kind, _, name = one.feature.partition(":")
        if kind in KINDS:  # ignore changes that only a newer version knows
            body = KINDS[kind].apply(body, name, one.value)
    return body


def described(one: Adaptation) -> str:
    """Describes the change for people."""
    kind, _, name = one.feature.partition(":")
    return KINDS[kind].words.format(name=name, value=one.value) if kind in KINDS else one.feature


def _without(body: JsonObject, name: str, _value: Any) -> JsonObject:
    return {key: value for key, value in body.items() if key != name}


def _without_all(body: JsonObject, _name: str, value: Any) -> JsonObject:
    return {key: given for key, given in body.items() if key not in value}


def _renamed(body: JsonObject, name: str, value: Any) -> JsonObject:
    return {(value if key == name else key): given for key, given in body.items()}


def _with(body: JsonObject, name: str, value: Any) -> JsonObject:
    return {**body, name: value}


def _lower_limit(body: JsonObject, _name: str, value: Any) -> JsonObject:
    return {key: min(given, value) if key in OUTPUT_LIMITS else given for key, given in body.items()}


def _no_system_role(body: JsonObject, _name: str, _value: Any) -> JsonObject:
    """Puts the instructions in front of the first user message."""
    told = [str(message.get("content") or "") for message in body["messages"] if instructs(message)]
    others: list[Message] = [dict(message) for message in body["messages"] if not instructs(message)]
    first = next((message for message in others if message.get("role") == "user"), None)
    if first is None:
        return {**body, "messages": [{"role": "user", "content": "\n\n".join(told)}, *others]}
    first["content"] = "\n\n".join([*told, str(first.get("content") or "")])
    return {**body, "messages": others}


def instructs(message: Message) -> bool:
    return message.get("role") in ("system", "developer")


def _message_without(body: JsonObject, name: str, _value: Any) -> JsonObject:
    return {**body, "messages": without_echo(body["messages"], [name])}


def _messages_plain(body: JsonObject, _name: str, _value: Any) -> JsonObject:
    return {**body, "messages": without_echo(body["messages"], echoed(body["messages"]))}


def _content_beside_calls(body: JsonObject, _name: str, value: Any) -> JsonObject:
    """Gives messages that have calls but no text `value` as content; None removes the field."""
    return {**body, "messages": [_spoken(message, value) for message in body["messages"]]}


def _spoken(message: Message, value: Any) -> Message:
    if not message.get("tool_calls") or message.get("content"):
        return message
    silent = {key: given for key, given in message.items() if key != "content"}
    return silent if value is None else {**silent, "content": value}


def _results_named(body: JsonObject, _name: str, _value: Any) -> JsonObject:
    """Adds the tool's name to each tool result, though its id already identifies the call."""
    calls = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
    names = {call["id"]: call["function"].get("name", "") for call in calls}
    return {**body, "messages": [_named(message, names) for message in body["messages"]]}


def _named(message: Message, names: Mapping[str, str]) -> Message:
    name = names.get(message.get("tool_call_id", ""))
    return {**message, "name": name} if name else message


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to change a request: the function that does it, and its description."""

    apply: Callable[[JsonObject, str, Any], JsonObject]
    words: str


KINDS: Mapping[str, Kind] = {
    "without": Kind(_without, "{name} is left out"),
    "without_all": Kind(_without_all, "{value} are left out"),
    "renamed": Kind(_renamed, "{name} is sent as {value}"),
    "with": Kind(_with, "{name} is sent as {value!r}"),
    "output_limit": Kind(_lower_limit, "at most {value} output tokens are requested"),
    "no_system_role": Kind(_no_system_role, "the instructions go into the first user message"),
    "message_without": Kind(_message_without, "{name} of earlier replies is not sent back"),
    "messages_plain": Kind(_messages_plain, "earlier replies are sent back with the chat API's own fields only"),
    "content_beside_calls": Kind(_content_beside_calls, "calls without text are sent with the content {value!r}"),
    "results_named": Kind(_results_named, "tool results carry their tool's name"),
}
"""All changes, by the first part of their feature."""


# ---- how a refusal is read ----


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request. `users` are the fields that the user's own settings put into it."""

    sent: JsonObject
    users: Collection[str]
    error: ErrorBody
    ended: CallEnded
    tried: Collection[Adaptation] = ()

    @property
    def words(self) -> str:
        return self.error.words

    def change(self, feature: str, value: Any = None, lasting: bool = True, guess: bool = False) -> Adaptation | None:
        """Returns the change, or None if it was already tried."""
        if any((one.feature, one.value) == (feature, value) for one in self.tried):
            return None
        return Adaptation(feature, value, self.error.message, lasting, guess)

    def names(self, candidates: Iterable[str]) -> list[str]:
        """Returns the candidates that the error names: only the one in its `param`, or all in the error's order."""
        known = list(candidates)
        last = re.split(r"[.\[\]]+", self.error.param.strip("."))[-1]
        if last in known:
            return [last]
        found = {name: place for name in known if (place := _place(name, self.words)) is not None}
        return sorted(found, key=lambda name: found[name])


def change_for(refusal: Refusal) -> Adaptation | None:
    """Returns the change to make before the request is sent again; None if its error stands."""
    if len(refusal.tried) >= MAX_ADAPTATIONS:
        return None
    if isinstance(refusal.ended, OutputLimitTooLarge):
        return _output_limit(refusal)
    if isinstance(refusal.ended, ToolsUnsupported) or not isinstance(refusal.ended, ModelRejected | UnknownError):
        return None
    return next((found for rule in _RULES if (found := rule(refusal)) is not None), None)


def users_own(refusal: Refusal) -> str | None:
    """Returns the field that the error names and that the user's own settings added: it is never dropped silently."""
    if not isinstance(refusal.ended, ModelRejected | UnknownError | OutputLimitTooLarge):
        return None
    return next(iter(refusal.names(name for name in refusal.sent if name in refusal.users)), None)


_OF_THE_PROMPT = re.compile(r"context|prompt|\binputs?\b|messages", re.IGNORECASE)


def _output_limit(refusal: Refusal) -> Adaptation | None:
    """Lowers the limit to what the endpoint says, or to half if it does not say."""
    name = next((name for name in OUTPUT_LIMITS if name in refusal.sent and name not in refusal.users), None)
    if name is None:
        return None
    now, stated = refusal.sent[name], getattr(refusal.ended, "limit", None)
    limit = stated if stated is not None and 0 < stated < now else now // 2
    if limit < LEAST_OUTPUT_TOKENS:
        return None
    return refusal.change("output_limit", limit, lasting=not _OF_THE_PROMPT.search(refusal.words))


def _other_name(refusal: Refusal) -> Adaptation | None:
    for name, other in (OUTPUT_LIMITS, OUTPUT_LIMITS[::-1]):
        renamed_before = any(one.feature == f"renamed:{other}" for one in refusal.tried)
        if name not in refusal.users and not renamed_before and refusal.names([name] if name in refusal.sent else []):
            return refusal.change(f"renamed:{name}", other)
    return None


_MUST_BE = re.compile(r"\b([a-z]+(?:_[a-z]+)*)['\"`]? must be (?:set to )?['\"`]?(true|false)\b", re.IGNORECASE)


def _wanted_value(refusal: Refusal) -> Adaptation | None:
    """Adds a required field that was not sent."""
    for name, value in _MUST_BE.findall(refusal.words):
        if name not in refusal.sent and name not in NEEDED:
            return refusal.change(f"with:{name}", value.lower() == "true")
    if "enable_thinking" in refusal.words and "enable_thinking" not in refusal.sent:
        return refusal.change("with:enable_thinking", False)
    return None


_SYSTEM = re.compile(
    r"\b(?:system|developer)['\"`]?[\s_-]*(?:role|messages?|prompts?|instructions?|turns?)\b"
    r"|\broles?\b.{0,80}['\"`](?:system|developer)['\"`]|['\"`](?:system|developer)['\"`].{0,40}\broles?\b",
    re.IGNORECASE | re.DOTALL,
)


def _system_role(refusal: Refusal) -> Adaptation | None:
    has_one = any(instructs(message) for message in refusal.sent["messages"])
    return refusal.change("no_system_role") if has_one and _SYSTEM.search(refusal.words) else None


def _field_of_message(refusal: Refusal) -> Adaptation | None:
    """Removes a field of an earlier reply, or of one of its calls, that the endpoint does not take back."""
    found = refusal.names(sorted(echoed(refusal.sent["messages"])))
    return refusal.change(f"message_without:{found[0]}") if found else None


def _content_of_calls(refusal: Refusal) -> Adaptation | None:
    silent = [m for m in refusal.sent["messages"] if m.get("tool_calls") and not m.get("content")]
    if not silent or not re.search(r"\bcontents?\b|\bblocks?\b", f"{refusal.error.param} {refusal.words}", re.I):
        return None
    ways = (refusal.change("content_beside_calls", value) for value in ("", None, SAID_BESIDE_CALLS))
    return next((way for way in ways if way is not None), None)


def has_unnamed_results(messages: Iterable[Message]) -> bool:
    return any(message.get("role") == "tool" and "name" not in message for message in messages)


_NAME_MISSING = re.compile(
    r"\bname\b.{0,40}\b(?:empty|missing|required|needed|absent|blank|must)\b"
    r"|\b(?:missing|requires?|needs?|lacks?|without|no|must have)\b.{0,20}\bname\b",
    re.IGNORECASE,
)


def _name_of_results(refusal: Refusal) -> Adaptation | None:
    missing = has_unnamed_results(refusal.sent["messages"]) and _NAME_MISSING.search(refusal.words)
    return refusal.change("results_named") if missing else None


def _field(refusal: Refusal) -> Adaptation | None:
    """Drops an optional field of ours that the answer does not depend on."""
    optional = [name for name in refusal.sent if name not in NEEDED and name not in refusal.users]
    found = refusal.names(optional)
    return refusal.change(f"without:{found[0]}") if found else None


_RULES = (_field_of_message, _wanted_value, _system_role, _content_of_calls, _name_of_results, _other_name, _field)
"""In the order in which they are tried: the most specific first."""

_WORDS_FOR_A_FIELD = r"(?:parameters?|fields?|arguments?|options?|propert(?:y|ies)|keys?|names?|inputs?|sequences?)"


def _place(name: str, words: str) -> int | None:
    """Returns where the words name a field; a name that is an everyday word must be written as a field's name."""
    return min((found.start() for pattern in _ways(name) for found in pattern.finditer(words)), default=None)


def _ways(name: str) -> Iterator[re.Pattern[str]]:
    escaped = re.escape(name)
    if "_" in name or name == "temperature":
        yield re.compile(rf"(?<![\w]){escaped}(?![\w])", re.IGNORECASE)
        return
    yield re.compile(rf"['\"`.]{escaped}['\"`]|\.{escaped}\b|\b{escaped}\s*[:=]|[:=]\s*{escaped}\s*(?:$|[.,;|\n])")
    yield re.compile(rf"\b{_WORDS_FOR_A_FIELD}\W{{1,3}}{escaped}\b|\b{escaped}\W{{1,3}}{_WORDS_FOR_A_FIELD}\b")
