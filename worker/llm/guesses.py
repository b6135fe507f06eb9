"""Plainer requests to try where nobody knows what an endpoint has against the usual one.

A request that is refused costs nothing, and only an answer shows that a guess was right: this meets wordings that no
rule knows.
"""

from __future__ import annotations

from collections.abc import Callable

from worker.core.errors import ModelRejected, ToolsUnsupported, UnknownError
from worker.core.provider_extras import echoed
from worker.core.records import Adaptation
from worker.llm.adaptations import NEEDED, OUTPUT_LIMITS, Refusal, has_unnamed_results, instructs

SHORT_OUTPUT_TOKENS = 1024
"""A limit that every model takes."""

MOST_IN_VAIN = 1_000
"""Refusals that are remembered as hopeless, by model and words."""

_REFUSED = (400, 422)


class Guesses:
    """Of one client. Where all were in vain once, the same words of the same model start no others."""

    def __init__(self) -> None:
        self._in_vain: set[tuple[str, str]] = set()

    def next(self, refusal: Refusal) -> Adaptation | None:
        """The next plainer request to try, or None."""
        return None if _words_of(refusal) in self._in_vain else guess_for(refusal)

    def were_in_vain(self, refusal: Refusal) -> None:
        """The error stands. Without a guess among what was tried this changes nothing."""
        if any(one.guess for one in refusal.tried):
            if len(self._in_vain) >= MOST_IN_VAIN:
                self._in_vain.clear()
            self._in_vain.add(_words_of(refusal))


def _words_of(refusal: Refusal) -> tuple[str, str]:
    return str(refusal.sent.get("model")), refusal.words


def guess_for(refusal: Refusal) -> Adaptation | None:
    """The next plainer request, different from all that were tried; None: there is none, and the error stands."""
    unclear = isinstance(refusal.ended, UnknownError | ModelRejected) and not isinstance(
        refusal.ended, ToolsUnsupported
    )
    if not unclear or refusal.ended.status not in _REFUSED or _is_clear(refusal):
        return None
    return next((found for guess in _GUESSES if (found := guess(refusal)) is not None), None)


def _is_clear(refusal: Refusal) -> bool:
    """Whether the words name a field that was sent, or are those for which a rule has changed the request already."""
    named = refusal.names(name for name in refusal.sent if name not in NEEDED or name in OUTPUT_LIMITS)
    return bool(named) or any(one.said == refusal.error.message and not one.guess for one in refusal.tried)


def _without_options(refusal: Refusal) -> Adaptation | None:
    ours = sorted(name for name in refusal.sent if name not in NEEDED and name not in refusal.users)
    return refusal.change("without_all", ours, guess=True) if ours else None


def _without_system_role(refusal: Refusal) -> Adaptation | None:
    told = any(instructs(message) for message in refusal.sent["messages"])
    return refusal.change("no_system_role", guess=True) if told else None


def _with_short_output(refusal: Refusal) -> Adaptation | None:
    ours = [name for name in OUTPUT_LIMITS if name in refusal.sent and name not in refusal.users]
    if not any(refusal.sent[name] > SHORT_OUTPUT_TOKENS for name in ours):
        return None
    return refusal.change("output_limit", SHORT_OUTPUT_TOKENS, lasting=False, guess=True)


def _with_content_beside_calls(refusal: Refusal) -> Adaptation | None:
    silent = any(m.get("tool_calls") and not m.get("content") for m in refusal.sent["messages"])
    return refusal.change("content_beside_calls", "", guess=True) if silent else None


def _with_named_results(refusal: Refusal) -> Adaptation | None:
    return refusal.change("results_named", guess=True) if has_unnamed_results(refusal.sent["messages"]) else None


def _without_echo(refusal: Refusal) -> Adaptation | None:
    names = sorted(echoed(refusal.sent["messages"]))
    feature = f"message_without:{names[0]}" if len(names) == 1 else "messages_plain"
    return refusal.change(feature, guess=True) if names else None


_GUESSES: tuple[Callable[[Refusal], Adaptation | None], ...] = (
    _without_options,
    _without_system_role,
    _with_content_beside_calls,
    _without_echo,
    _with_named_results,
    _with_short_output,
)
"""In the order in which they are tried: what endpoints differ in most comes first."""
