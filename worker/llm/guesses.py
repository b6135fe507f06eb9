"""Simpler requests to try if an endpoint refuses the usual one for an unknown reason.

A refused request costs nothing, and a guess counts only if it gets an answer. This handles wordings that no rule
knows.
"""

from __future__ import annotations

from collections.abc import Callable

from worker.core.errors import ModelRejected, ToolsUnsupported, UnknownError
from worker.core.provider_extras import echoed
from worker.core.records import Adaptation
from worker.llm.adaptations import NEEDED, OUTPUT_LIMITS, Refusal, has_unnamed_results, instructs

SHORT_OUTPUT_TOKENS = 1024
"""A limit that every model accepts."""

MOST_IN_VAIN = 1_000
"""How many hopeless refusals are remembered, by model and words."""

_REFUSED = (400, 422)


class Guesses:
    """The guesses of one client. If all failed once, the same words from the same model are not tried again."""

    def __init__(self) -> None:
        self._in_vain: set[tuple[str, str]] = set()

    def next(self, refusal: Refusal) -> Adaptation | None:
        """Returns the next simpler request to try, or None."""
        return None if _words_of(refusal) in self._in_vain else guess_for(refusal)

    def were_in_vain(self, refusal: Refusal) -> None:
        """Remembers that guesses cannot help this refusal. Does nothing if no guess was tried."""
        if any(one.guess for one in refusal.tried):
            if len(self._in_vain) >= MOST_IN_VAIN:
                self._in_vain.clear()
            self._in_vain.add(_words_of(refusal))


def _words_of(refusal: Refusal) -> tuple[str, str]:
    return str(refusal.sent.get("model")), refusal.words


def guess_for(refusal: Refusal) -> Adaptation | None:
    """Returns the next simpler request that was not tried yet; None if there is none and the error stands."""
    unclear = isinstance(refusal.ended, UnknownError | ModelRejected) and not isinstance(
        refusal.ended, ToolsUnsupported
    )
    if not unclear or refusal.ended.status not in _REFUSED or _is_clear(refusal):
        return None
    return next((found for guess in _GUESSES if (found := guess(refusal)) is not None), None)


def _is_clear(refusal: Refusal) -> bool:
    """Whether the words name a field that was sent, or a rule has already changed the request because of them."""
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
"""In the order in which they are tried: the most common differences first."""
