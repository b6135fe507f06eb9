"""Reads a reply's ending: a reply that was cut off is neither an answer nor an action, whatever it looks like."""

from __future__ import annotations

from worker.core.finish_reasons import Ending, ending_of
from worker.core.records import Actions, Malformed, Parsed, Reply

MAX_KEPT_CHARS = 8000
"""History keeps no more than this of a malformed reply."""
_CUT = {
    Ending.LENGTH: "The reply was cut off at the length limit, so nothing in it was used. Write less: think briefly, "
    "then give one short action or answer.",
    Ending.FILTERED: "The provider's filter stopped the reply, so nothing in it was used. Put it in other words.",
    Ending.BROKEN_OFF: "The provider broke the reply off, so nothing in it was used. Write it again.",
}
UNREAD = "The reply ended as a tool call that the endpoint could not read."
_LOST = {
    Ending.CALLS: "The reply ended as a tool call, but no call came with it.",
    Ending.BAD_CALL: UNREAD,
}


def cut_short(reply: Reply) -> str | None:
    """Returns why no part of the reply may be used, worded for the model; None if the reply ended by itself."""
    return _CUT.get(ending_of(reply.finish_reason))


def ended_itself(reply: Reply) -> bool:
    """Whether the endpoint said that the model ended its turn; silence does not count as that."""
    return bool(reply.finish_reason) and ending_of(reply.finish_reason) is Ending.WHOLE


def unread_call(reply: Reply) -> bool:
    """Whether the endpoint met a call that it could not read. Then no action in the dialect's own form is run.

    Such an action may be cut off, or not be the unread call. A leaked call in a model's own format is that call.
    """
    return ending_of(reply.finish_reason) is Ending.BAD_CALL


def with_its_call(parsed: Parsed, reply: Reply, form: str) -> Parsed:
    """Requires a call in a reply that ended as a call: the words that announce it are no answer."""
    lost = _LOST.get(ending_of(reply.finish_reason))
    if lost is None or isinstance(parsed, (Actions, Malformed)):
        return parsed
    return Malformed(f"{lost} {form}", kept=parsed.kept[:MAX_KEPT_CHARS], thought=parsed.text, dropped=parsed.dropped)
