"""What the next request must send back, and how: the reply's fields, call ids, roles in order, content."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from worker.practice.quirks.base import Asked, Quirk, Wire, bad_request
from worker.practice.records import Completion

_NINE = re.compile(r"[A-Za-z0-9]{9}")
Message = dict[str, Any]


def _since_question(asked: Asked) -> list[Message]:
    """Returns the messages after the question; messages of examples before it did not come from this endpoint."""
    messages = asked.messages
    text = asked.conversation.question[:200]
    asking = [message.get("role") == "user" and text in str(message.get("content")) for message in messages]
    starts = [at for at, found in enumerate(asking) if found]
    return messages[starts[-1] + 1 :] if starts else messages


def _assistants(asked: Asked) -> list[Message]:
    return [message for message in _since_question(asked) if message.get("role") == "assistant"]


def _calls(messages: Iterable[Message]) -> list[Message]:
    return [call for message in messages for call in message.get("tool_calls") or () if isinstance(call, dict)]


def _token(asked: Asked, turn: int) -> str:
    """Returns this endpoint's token for reply number `turn` of a conversation."""
    return hashlib.sha256(f"{asked.conversation.question}:{turn}".encode()).hexdigest()[:40]


def _tokens(asked: Asked) -> list[str]:
    """Returns all tokens possibly given out so far; a reply that the caller does not send again leaves a gap."""
    return [_token(asked, turn) for turn in range(50)]


SIGNATURE_MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
    "Unable to submit request because function call `calculator` is missing a `thought_signature`.",
)


def _sign(asked: Asked, completion: Completion) -> None:
    """Like Gemini: puts a signature on the first call of each reply."""
    for call in (completion.message.get("tool_calls") or ())[:1]:
        call["extra_content"] = {"google": {"thought_signature": _token(asked, len(_assistants(asked)))}}


def _wants_signature(asked: Asked) -> Wire | None:
    given = [{"google": {"thought_signature": token}} for token in _tokens(asked)]
    for message in _assistants(asked):
        if any(call.get("extra_content") not in given for call in _calls([message])[:1]):
            return bad_request(asked.pick(SIGNATURE_MISSING), code="INVALID_ARGUMENT")
    return None


def _adds(field: str) -> Callable[[Asked, Completion], None]:
    def change(asked: Asked, completion: Completion) -> None:
        completion.message[field] = _carried(field, _token(asked, len(_assistants(asked))))

    return change


def _carried(field: str, token: str) -> Any:
    if field == "reasoning_details":
        return [{"type": "reasoning.encrypted", "data": token, "format": "example-v1", "index": 0}]
    return f"I should look at this with care ({token})."


def _wants(field: str, wordings: Sequence[str]) -> Callable[[Asked], Wire | None]:
    """Refuses a conversation in which one of this endpoint's replies comes back without its field."""

    def refuse(asked: Asked) -> Wire | None:
        given = [_carried(field, token) for token in _tokens(asked)]
        missing = any(message.get(field) not in given for message in _assistants(asked))
        return bad_request(asked.pick(wordings)) if missing else None

    return refuse


def _refuses_field(field: str, wordings: Sequence[str]) -> Callable[[Asked], Wire | None]:
    def refuse(asked: Asked) -> Wire | None:
        for at, message in enumerate(asked.messages):
            if field in message:
                return bad_request(asked.pick(wordings).replace("{at}", str(at)))
        return None

    return refuse


IDS_REFUSED = (
    "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
    "Invalid tool_call_id {id}: expected nine alphanumeric characters",
)


def _wants_nine(asked: Asked) -> Wire | None:
    called = [call.get("id") for call in _calls(asked.messages)]
    answered = [message.get("tool_call_id") for message in asked.messages if message.get("role") == "tool"]
    wrong = next((one for one in (*called, *answered) if not _NINE.fullmatch(str(one))), None)
    return None if wrong is None else bad_request(asked.pick(IDS_REFUSED).replace("{id}", str(wrong)))


def _ids_as(value: Callable[[Asked, int], Any]) -> Callable[[Asked, Completion], None]:
    def change(asked: Asked, completion: Completion) -> None:
        for index, call in enumerate(completion.message.get("tool_calls") or ()):
            call["id"] = value(asked, index)

    return change


def _no_ids(asked: Asked, completion: Completion) -> None:
    for call in completion.message.get("tool_calls") or ():
        if asked.pick((True, False)):
            call.pop("id")
        else:
            call["id"] = None


def _wants_matching(asked: Asked) -> Wire | None:
    """Requires that each call has a unique id and exactly one result that names it."""
    called = [call.get("id") for call in _calls(asked.messages)]
    answered = [message.get("tool_call_id") for message in asked.messages if message.get("role") == "tool"]
    if any(not one for one in called):
        return bad_request("messages: tool_calls[0].id: field required")
    if len(set(called)) < len(called) or sorted(map(str, called)) != sorted(map(str, answered)):
        return bad_request("Duplicate or missing `tool_call_id`: each call needs an id of its own and one result.")
    return None


ORDER_REFUSED = (
    "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    "Unexpected role 'user' after role 'tool'",
)


def _wants_order(asked: Asked) -> Wire | None:
    """Like Mistral: after a tool result, accepts only another one or an assistant message."""
    roles = [str(message.get("role")) for message in asked.messages]
    for before, after in itertools.pairwise(roles):
        if before == "tool" and after not in ("tool", "assistant"):
            return bad_request(ORDER_REFUSED[1].replace("'user'", f"'{after}'"), code="3230")
    return bad_request(ORDER_REFUSED[0], code="3240") if roles[-1:] == ["assistant"] else None


ALTERNATION = (
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "After the optional system message, conversation roles must alternate user and assistant.",
)


def _wants_alternation(asked: Asked) -> Wire | None:
    roles = [str(m.get("role")) for m in asked.messages if m.get("role") in ("user", "assistant", "tool")]
    repeated = any(before == after == "user" for before, after in itertools.pairwise(roles))
    return bad_request(asked.pick(ALTERNATION)) if repeated else None


NULL_REFUSED = (
    "Invalid value for 'content': expected a string, got null.",
    "messages.{at}.content: Input should be a valid string",
    "The content field is a required field for messages of the role assistant",
)
EMPTY_REFUSED = (
    "messages.{at}: text content blocks must be non-empty",
    "Message content must not be empty (role: assistant)",
    "Assistant message must have either content or tool_calls, but content is the empty string",
)


def _wants_content(refused: object, wordings: Sequence[str]) -> Callable[[Asked], Wire | None]:
    def refuse(asked: Asked) -> Wire | None:
        for at, message in enumerate(asked.messages):
            if message.get("role") == "assistant" and message.get("content") == refused:
                return bad_request(asked.pick(wordings).replace("{at}", str(at)))
        return None

    return refuse


def _silent(asked: Asked, completion: Completion) -> None:
    """Sends calls without any text beside them."""
    if completion.message.get("tool_calls"):
        completion.message["content"] = asked.pick((None, ""))


REASONING_MISSING = (
    "The reasoning_content in the thinking mode must be passed back to the API.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
)
UNKNOWN_MISSING = ("The assistant message lacks what this endpoint gave with it (x_state).",)
REASONING_REFUSED = (
    "messages.{at}.reasoning_content: Extra inputs are not permitted",
    "Unrecognized request argument supplied: messages[{at}].reasoning_content",
    "if you have reasoning_content in the input messages, remove it: property 'reasoning_content' is unsupported",
)

QUIRKS = (
    Quirk(
        "signature", "as Gemini: gives a signature with a call and refuses the call without it", samples=2,
        refuse=_wants_signature, change=_sign,
    ),
    Quirk(
        "reasoning-returned", "wants the reasoning of each reply back", samples=2,
        refuse=_wants("reasoning_content", REASONING_MISSING), change=_adds("reasoning_content"),
    ),
    Quirk(
        "reasoning-details-returned", "wants the encrypted reasoning of each reply back", samples=2,
        refuse=_wants("reasoning_details", REASONING_MISSING), change=_adds("reasoning_details"),
    ),
    Quirk(
        "state-returned", "wants an unknown field back",
        refuse=_wants("x_state", UNKNOWN_MISSING), change=_adds("x_state"),
    ),
    Quirk(
        "reasoning-refused", "gives reasoning with each reply and refuses it when it comes back", samples=3,
        refuse=_refuses_field("reasoning_content", REASONING_REFUSED), change=_adds("reasoning_content"),
    ),
    Quirk("ids-of-nine", "as Mistral: an id of a call is nine letters or digits", samples=2, refuse=_wants_nine),
    Quirk("ids-missing", "gives calls no id, and wants one back", samples=2, refuse=_wants_matching, change=_no_ids),
    Quirk(
        "ids-repeated", "gives all calls the same id, and wants different ones back", samples=2,
        refuse=_wants_matching, change=_ids_as(lambda asked, index: asked.pick(("call_0", "functions.tool:0"))),
    ),
    Quirk("order", "as Mistral: only an assistant message may follow a tool's result", refuse=_wants_order),
    Quirk("alternation", "never takes two user messages in a row", samples=2, refuse=_wants_alternation),
    Quirk(
        "content-null", "refuses content that is null beside calls", samples=3,
        refuse=_wants_content(None, NULL_REFUSED), change=_silent,
    ),
    Quirk(
        "content-empty", "refuses content that is empty beside calls", samples=3,
        refuse=_wants_content("", EMPTY_REFUSED), change=_silent,
    ),
)  # fmt: skip
