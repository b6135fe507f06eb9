"""Classifies a failed model call from the HTTP status and the body that the endpoint sent: whose fault is it?

Rules run in the order of `_ORDER`: a provider's error number, then what the words claim, then the status alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from worker.core.errors import (
    AccessDenied,
    CallEnded,
    ContentFilter,
    ContextOverflow,
    EndpointBusy,
    EndpointFailed,
    ModelRejected,
    OperatorError,
    OutputLimitTooLarge,
    QuotaExhausted,
    RateLimited,
    ToolsUnsupported,
    TransientError,
    UnknownError,
    UnknownModel,
    WrongKey,
)
from worker.core.records import Usage
from worker.llm import evidence
from worker.llm.errorbody import ErrorBody, read_error
from worker.llm.evidence import Said, said_by
from worker.llm.provider_codes import kind_of_codes, status_of_codes
from worker.llm.retryafter import Asked, asked_to_wait
from worker.llm.scrub import scrub
from worker.llm.sizes import LEAST_ROOM, alone_over_the_limit, sizes_in, stated_output_limit

FREE = Usage()
"""The usage of a call that was refused before any work."""

SOON_S = 300.0
"""A limit that ends within this time is a short-term one, whatever its name."""

Kind = type[CallEnded]


def from_status(
    status: int,
    body: object,
    headers: Mapping[str, str],
    *,
    secrets: Iterable[str] = (),
    wall_now_s: float | None = None,
    usage: Usage | None = None,
) -> CallEnded:
    """Returns the error for a response that is no success. `body` is parsed JSON or text, `headers` case-insensitive.

    `usage` is what the response reports, or None.
    """
    error = read_error(body, secrets)
    said = said_by(_status_seen(status, error), error)
    case = _Case(said, asked_to_wait(headers, body, error, wall_now_s))
    kind, unsure = _judged(case)
    sentence = _sentence(status, error, scrub(headers.get("location", ""), secrets))
    return _made(kind, case, sentence, status, usage, unsure)


def _judged(case: _Case) -> tuple[Kind, bool]:
    """Returns the kind of error, and whether it is only likely."""
    kind = next((kind for kind in (rule(case) for rule in _ORDER) if kind is not None), UnknownError)
    if kind is UnknownError and case.status == 500:
        likely = next((found for rule in (_rights, _key, _model) if (found := rule(_behind(case)))), None)
        return (kind, False) if likely is None else (likely, True)
    return kind, case.status == 403 and kind is AccessDenied and _rights(case) is None


def _behind(case: _Case) -> _Case:
    """Returns the same case with status 400, since gateways report what their provider refused as a 500."""
    return replace(case, said=replace(case.said, status=400))


def _status_seen(status: int, error: ErrorBody) -> int:
    """Returns the status named in the body if the real one is a gateway's wrapper (a 200, 400, 500 or 502)."""
    if status not in (200, 400, 500, 502):
        return status
    named = error.status or (None if status == 400 else status_of_codes(error.codes))
    return named or status


@dataclass(frozen=True, slots=True)
class _Case:
    said: Said
    asked: Asked

    @property
    def status(self) -> int:
        return self.said.status

    @property
    def soon(self) -> bool:
        return self.asked.wait_s is not None and self.asked.wait_s <= SOON_S


def _by_provider_code(case: _Case) -> Kind | None:
    """Looks the provider's number up. Numbers clash between providers, and a 429 is never about content."""
    kind = kind_of_codes(case.said.codes)
    return None if kind is ContentFilter and case.status == 429 else kind


def _money(case: _Case) -> Kind | None:
    said = case.said
    if case.status == 402 or evidence.out_of_money(said):
        return QuotaExhausted
    if evidence.of_the_day(said) and not (case.soon and evidence.too_fast(said)):
        return QuotaExhausted
    if case.status in (404, 422) or not evidence.quota_used_up(said):
        return None
    return None if evidence.of_the_minute(said) or evidence.said_too_fast(said) or case.soon else QuotaExhausted


def _rate(case: _Case) -> Kind | None:
    said = case.said
    if case.status != 429 and not evidence.too_fast(said):
        return None
    alone = alone_over_the_limit(said) or evidence.one_request_too_large(said)
    return ContextOverflow if alone or (evidence.context_named(said) and not evidence.too_fast(said)) else RateLimited


def _busy(case: _Case) -> Kind | None:
    if case.status in (401, 403, 404, 405, 413) or not evidence.busy(case.said):
        return None
    return EndpointBusy if case.status != 422 or evidence.busy_by_code(case.said) else None


def _tools(case: _Case) -> Kind | None:
    return ToolsUnsupported if evidence.no_tools(case.said) else None


def _rights(case: _Case) -> Kind | None:
    if case.status in (404, 422) or case.status >= 500 or not evidence.barred(case.said):
        return None
    if evidence.filtered_in_words(case.said):
        return None
    return AccessDenied


def _filter(case: _Case) -> Kind | None:
    turned_away = case.status in (403, 451) and evidence.text_turned_away(case.said)
    return ContentFilter if turned_away or (case.status < 500 and evidence.filtered(case.said)) else None


def _size(case: _Case) -> Kind | None:
    """Decides whether the conversation is too long, or only the requested limit for the reply."""
    said, status = case.said, case.status
    if status in (401, 403, 404) or (status >= 500 and evidence.passes(said) and not evidence.context_named(said)):
        return None
    long = sizes_in(said).overflow or (evidence.too_long(said) if status < 500 else evidence.context_named(said))
    output = evidence.output_limit_named(said)
    if not (long or output or status == 413):
        return None
    return OutputLimitTooLarge if _lower_output_fits(said, output) else ContextOverflow


def _lower_output_fits(said: Said, output_named: bool) -> bool:
    """Whether the prompt alone fits: by the numbers if the error has them all, else by what it calls too large."""
    sizes = sizes_in(said)
    if sizes.room is not None and (sizes.asked is not None or output_named):
        return sizes.room >= LEAST_ROOM
    if not (output_named and evidence.only_output_named(said)):
        return False
    most = stated_output_limit(said, sizes.asked)
    return most is None or sizes.prompt is None or most == sizes.prompt or most - sizes.prompt >= LEAST_ROOM


def _key(case: _Case) -> Kind | None:
    return WrongKey if case.status == 401 or (case.status != 404 and evidence.key_refused(case.said)) else None


def _model(case: _Case) -> Kind | None:
    found = evidence.no_model if case.status < 500 else evidence.no_model_by_code
    return UnknownModel if found(case.said) else None


def _field(case: _Case) -> Kind | None:
    """Some routers answer 404 if a model lacks a feature that the request names."""
    return ModelRejected if case.status == 404 and evidence.field_unsupported(case.said) else None


def _by_status(case: _Case) -> Kind | None:
    if 300 <= case.status < 400:
        return UnknownModel
    return _STATUSES.get(case.status) or (EndpointFailed if 520 <= case.status <= 530 else None)


def _passing(case: _Case) -> Kind | None:
    return EndpointFailed if (case.status >= 500 or case.status in (200, 424)) and evidence.passes(case.said) else None


def _refused(case: _Case) -> Kind | None:
    if case.status >= 500 or not (evidence.request_refused(case.said) or evidence.of_the_template(case.said)):
        return None
    return ModelRejected


_ORDER: tuple[Callable[[_Case], Kind | None], ...] = (
    _by_provider_code,
    _money,
    _rate,
    _busy,
    _tools,
    _rights,
    _filter,
    _size,
    _key,
    _model,
    _field,
    _by_status,
    _passing,
    _refused,
)

_STATUSES: dict[int, Kind] = {
    402: QuotaExhausted,
    403: AccessDenied,
    404: UnknownModel,
    405: UnknownModel,
    407: AccessDenied,
    408: EndpointFailed,
    409: EndpointFailed,
    410: UnknownModel,
    425: EndpointFailed,
    499: EndpointFailed,
    502: EndpointFailed,
    503: EndpointBusy,
    504: EndpointFailed,
    529: EndpointBusy,
}

_REMEDIES: dict[Kind, str] = {
    ToolsUnsupported: "; this endpoint has no tool calls: choose a text dialect such as react_json",
    QuotaExhausted: "; add credit or raise the limit at the provider",
    WrongKey: "; check the API key",
    AccessDenied: "; check what the key may use",
    UnknownModel: "; check the model's name and the base URL",
    OutputLimitTooLarge: "; lower max_output_tokens",
}


def _sentence(status: int, error: ErrorBody, location: str) -> str:
    message = error.message.removesuffix(".")
    said = f"the model endpoint answered {status}: {message}" if message else f"the model endpoint answered {status}"
    if 300 <= status < 400:
        return f"{said}; it redirects to {location or 'elsewhere'}: correct the base URL"
    return said


def _made(kind: Kind, case: _Case, sentence: str, status: int, reported: Usage | None, unsure: bool) -> CallEnded:
    message = sentence if 300 <= status < 400 else sentence + _REMEDIES.get(kind, "")
    usage = FREE if reported is None and _refused_unread(kind) else reported
    if issubclass(kind, TransientError | QuotaExhausted):
        note = f" ({case.asked.note})" if case.asked.note else ""
        return kind(message + note, retry_after_s=case.asked.wait_s, usage=usage, status=status)
    if kind is OutputLimitTooLarge:
        return OutputLimitTooLarge(message, limit=_output_limit(case.said), usage=usage, status=status)
    if issubclass(kind, OperatorError):
        return kind(message, usage=usage, status=status, unsure=unsure)
    return kind(message, usage=usage, status=status)


def _refused_unread(kind: Kind) -> bool:
    """Whether this error always comes before any token is charged."""
    return kind is RateLimited or not issubclass(kind, TransientError | ContentFilter)


def _output_limit(said: Said) -> int | None:
    sizes = sizes_in(said)
    if sizes.room is not None:
        return sizes.room
    return stated_output_limit(said, sizes.asked) if evidence.only_output_named(said) else None
