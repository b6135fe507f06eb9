"""Error numbers of providers whose words alone are ambiguous, from the providers' manuals."""

from __future__ import annotations

from collections.abc import Iterable

from worker.core.errors import (
    AccessDenied,
    CallEnded,
    ContentFilter,
    ContextOverflow,
    EndpointBusy,
    EndpointFailed,
    ModelRejected,
    QuotaExhausted,
    RateLimited,
    UnknownModel,
    WrongKey,
)

_LISTS: tuple[tuple[str, type[CallEnded], tuple[int, ...]], ...] = (
    # Zhipu GLM: error.code
    ("", WrongKey, (1000, 1001, 1002, 1003, 1004, 1111)),
    ("", AccessDenied, (1110, 1112, 1120, 1121, 1220, 1311)),
    ("", QuotaExhausted, (1113, 1304, 1308, 1309, 1310)),
    ("", UnknownModel, (1211, 1221, 1222)),
    ("", ContextOverflow, (1261,)),
    ("", ContentFilter, (1300, 1301)),
    ("", RateLimited, (1302, 1303)),
    ("", EndpointBusy, (1305, 1312)),
    # MiniMax: base_resp.status_code
    ("base_resp:", EndpointFailed, (1000, 1001, 1013, 1024, 1033)),
    ("base_resp:", RateLimited, (1002, 1041, 2045)),
    ("base_resp:", WrongKey, (1004, 2049)),
    ("base_resp:", QuotaExhausted, (1008, 2056)),
    ("base_resp:", ContentFilter, (1026, 1027)),
    ("base_resp:", ContextOverflow, (1039,)),
    ("base_resp:", ModelRejected, (1042,)),
    # Baidu: error_code
    ("error_code:", EndpointBusy, (2, 336100, 336120)),
    ("error_code:", RateLimited, (4, 18, 336501, 336502)),
    ("error_code:", QuotaExhausted, (17, 19)),
    ("error_code:", WrongKey, (13, 14, 15, 100, 110, 111)),
    ("error_code:", AccessDenied, (6, 336004)),
    ("error_code:", ContextOverflow, (336103, 336007)),
    ("error_code:", UnknownModel, (3,)),
)
KNOWN = {f"{prefix}{number}": kind for prefix, kind, numbers in _LISTS for number in numbers}

# Words for statuses: their sentences are often vague, and a 200 carries no other status.
STATUS_WORDS = {
    "resource_exhausted": 429,
    "throttlingexception": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "unauthenticated": 401,
    "authentication_error": 401,
    "permission_denied": 403,
    "permission_error": 403,
    "accessdeniedexception": 403,
    "not_found": 404,
    "not_found_error": 404,
    "resourcenotfoundexception": 404,
    "overloaded_error": 529,
    "unavailable": 503,
    "serviceunavailableexception": 503,
    "deadline_exceeded": 504,
    "invalid_argument": 400,
    "invalid_request_error": 400,
    "billing_error": 402,
}


def kind_of_codes(codes: Iterable[str]) -> type[CallEnded] | None:
    """Returns the error type of the first known number; None if there is none."""
    return next((KNOWN[code] for code in codes if code in KNOWN), None)


def status_of_codes(codes: Iterable[str]) -> int | None:
    """Returns the HTTP status that a code word means."""
    return next((STATUS_WORDS[code.lower()] for code in codes if code.lower() in STATUS_WORDS), None)
