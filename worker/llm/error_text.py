"""Recognises an error that a gateway wrote where the reply's text belongs. Pure."""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from worker.llm import evidence
from worker.llm.errorbody import read_error
from worker.llm.evidence import Said, said_by

_MOST = 600
"""The longest error in prose, in characters; a longer text is a reply about errors."""
_MOST_OF_A_PAGE = 3000
_SHARE = 0.6
_ENVELOPE = frozenset(
    {"error", "object", "type", "code", "status", "status_code", "message", "msg", "detail", "param", "request_id"}
)
_PREFIXED = re.compile(
    r"[\W_]{0,8}(?:(?:[A-Za-z.]{0,40}(?:error|exception)|(?:[A-Za-z]+ ){1,3}error)(?: code)?\]?[*_ ]{0,3}"
    r"(?:[:：\-–—]|(?<=\]))|request failed with|error (?:while |when )?(?:communicating|connecting|calling|contacting"
    r"|generating|processing|streaming|fetching) )\s{0,3}(?P<said>\S.*)",
    re.I | re.DOTALL,
)
"""Matches `Error: …`, `[ERROR] …`, `litellm.RateLimitError: …`, `Upstream error - …`, not a sentence about errors."""
_PHRASES = "|".join(
    re.escape(status.phrase).replace("Timeout", "Time-?out")
    for status in HTTPStatus
    if status >= HTTPStatus.BAD_REQUEST
)
_STATUS = re.compile(
    r"\b(?:status|code|http)(?: code)?[ :=]{0,3}[45]\d\d\b|^[45]\d\d (?:-|\{)"
    rf"|(?<!\w)[45]\d\d:? (?:{_PHRASES})",
    re.I,
)
_OURS = re.compile(
    r"\b(?:the|this|our|my|all|requested|selected) (?:[\w\-]+ ){0,2}"
    r"(?:models?|servers?|engines?|providers?|backends?|gateway|ai (?:service|assistant))\b|\bwe(?: are|'re)\b"
    r"|服务器|模型|系统",
    re.I,
)
_COME_BACK = re.compile(
    r"\b(?:try|retry|trying|come back|check back)\b[^.]{0,40}\b(?:again|later|shortly|soon|in (?:\d|a ))|稍后|重试",
    re.I,
)
_PAGE = re.compile(r"<(?:!doctype html|html|head|title|body|center|h1)\b", re.I)
_PASSING = re.compile(
    "|".join(
        re.escape(status.phrase).replace("Timeout", "Time-?out")
        for status in HTTPStatus
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT)
    ),
    re.I,
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n\s+File \"(?:[^\n]+\n)+[\w.]+(?::[^\n]*)?", re.I)
"""The whole text must match: a reply that explains a traceback has words around it."""
_TITLED = re.compile(
    r"<(?:!doctype html|html)\b.*?<(?:title|h1)\b[^>]*>(?P<title>[^<]{1,200})<.*</html>\s*", re.I | re.DOTALL
)
_PAGE_STATUS = re.compile(r"(?:^|[|:\-–(]|\berror(?: code)?)\s*[45]\d\d\b", re.I)
_ALONE = re.compile(rf"\W*(?:[45]\d\d )?(?:{_PHRASES})\W*", re.I)
_TRANSPORT = re.compile(
    r"upstream|downstream|gateway|proxy|backend|peer|stream|socket|connection|connect|headers|reset|disconnect|request|"
    r"response|handshake|tls|eof|overflow|timeout|timed|out|healthy|unhealthy|refused|closed|terminated|termination|"
    r"aborted|received|error|failure|failed|reason|internal|id|no|before|remote|transport"
)
_MIDDLE = re.compile(r"\b(?:upstream|stream id|before headers|from peer|by peer|tls handshake)\b", re.I)
"""Words that only proxies and gateways use."""
_MACHINE = re.compile(r"\W*(?:\w+\W+){0,3}out of memory\b.{0,80}\b(?:allocate\b|[GM]i?B\b)", re.I | re.DOTALL)
_KEEP_ALIVE = re.compile(r"(?:: ?[A-Z][A-Z \-]{2,60}(?:\n+|$))+")
"""An event stream's keep-alive comment that was mistaken for text."""
_TEACHES = re.compile(r"\b(?:means?|indicates?|stands for|is returned|refers to|e\.g\.|for example)\b", re.I)


def is_error_text(text: str) -> bool:
    """Whether the whole text is an error: a JSON error body, a gateway's page, a sentence with an error's prefix, or an
    endpoint's request to come back later. A text that explains an error, or quotes one among other things, is a
    reply."""
    text = text.strip()
    if text.startswith("{"):
        return _is_error_body(text)
    if _PAGE.match(text):
        return _is_error_page(text)
    if _TRACEBACK.fullmatch(text):
        return True
    if len(text) > _MOST or "\n\n" in text or "`" in text or _TEACHES.search(text):
        return False
    prefixed = _PREFIXED.fullmatch(text)
    if prefixed is not None:
        if _STATUS.search(prefixed["said"]) or _STATUS.search(text) or _is_transport(text):
            return True
        return _of_an_endpoint(said_by(200, read_error(prefixed["said"])))
    if _KEEP_ALIVE.fullmatch(text) or _MACHINE.match(text) or _is_transport(text):
        return True
    excuse = _OURS.search(text) and _COME_BACK.search(text)
    return bool(excuse) and evidence.busy(said_by(200, read_error(text)))


def _is_error_page(text: str) -> bool:
    """Whether a page shows a gateway's status and little else."""
    shown = " ".join(re.sub(r"<[^>]*>", " ", text[: 10 * _MOST]).split())
    titled = _TITLED.fullmatch(text) if len(text) <= _MOST_OF_A_PAGE else None
    named = titled is not None and _PAGE_STATUS.search(titled["title"]) is not None
    return len(shown) <= _MOST and (named or bool(_STATUS.search(shown) or _PASSING.match(shown)))


def _is_transport(text: str) -> bool:
    """Whether most words are those of a proxy or gateway, and at least one is used by nothing else."""
    words = re.findall(r"[a-z]+", text.casefold())
    ours = sum(_TRANSPORT.fullmatch(word) is not None for word in words)
    return _MIDDLE.search(text) is not None and len(words) > 2 and ours >= _SHARE * len(words)


def _is_error_body(text: str) -> bool:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if isinstance(body, dict) and set(body) <= {"detail", "message", "msg", "request_id"}:
        said = next((body[key] for key in ("detail", "message", "msg") if isinstance(body.get(key), str)), "")
        return _ALONE.fullmatch(said) is not None
    if not isinstance(body, dict) or not set(body) <= _ENVELOPE:
        return False
    read, error = read_error(body), body.get("error")
    if not error:
        known = _PASSING.match(read.message) or _of_an_endpoint(said_by(200, read))
        return read.status is not None and bool(known)
    named = isinstance(error, dict) and set(error) & {"code", "type", "status"}
    return bool(read.message) and bool(named or _of_an_endpoint(said_by(200, read)))


def _of_an_endpoint(said: Said) -> bool:
    """Whether the text is about something that happens to model endpoints."""
    return evidence.busy(said) or evidence.too_fast(said) or evidence.passes(said) or evidence.out_of_money(said)
