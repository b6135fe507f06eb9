"""Turns what the web serves into text; runs in a child process, since documents may be hostile."""

from __future__ import annotations

import base64
import codecs
import io
import re
from email.message import Message
from typing import Any

from tools.kit.errors import ToolError

_MAX_PDF_PAGES = 200
_MAX_CHARS = 400_000
_STATED_DATES = {"extensive_search": False, "original_date": True}
"""Takes a date only from what the page states, never by guessing from its text."""
_NO_CHARSETS = frozenset({"punycode", "raw-unicode-escape", "unicode-escape", "utf-7"})
"""Python's own charsets, in which no page is written, and UTF-7, which no browser reads."""
_TEXT = re.compile(r"text/|application/(json|.*\+json|xml|.*\+xml|x-ndjson|yaml|x-yaml|javascript|csv|rtf)")


def read(data: str, content_type: str, url: str, cut: bool) -> dict[str, Any]:
    """Returns `{"title", "author", "date", "text", "remark"}` of base64 data. Raises ToolError for what is not text."""
    body = base64.b64decode(data)
    media_type, charset = _type(content_type)
    if body.startswith(b"%PDF-") or media_type == "application/pdf":
        if cut:
            raise ToolError("The PDF is too large to be read. Use another source.")
        return _page(**_pdf(body))
    remark = "Only the beginning of the document was read, since it is very long." if cut else ""
    if media_type in ("text/html", "application/xhtml+xml") or (not media_type and _looks_like_html(body)):
        return _page(**_html(_decoded(body, charset, html=True), url), remark=remark)
    if _TEXT.match(media_type) or (not media_type and b"\0" not in body[:4096]):
        return _page(text=_decoded(body, charset, html=False), remark=remark)
    raise ToolError(f"{url} is {media_type or 'data'} ({len(body):,} bytes), which cannot be read as text.")


def _page(text: str, title: str = "", author: str = "", date: str = "", remark: str = "") -> dict[str, Any]:
    if not text.strip():
        raise ToolError("The page holds no readable text (it may need a browser). Use another source.")
    return {"title": title, "author": author, "date": date, "text": text.strip()[:_MAX_CHARS], "remark": remark}


def _type(content_type: str) -> tuple[str, str | None]:
    message = Message()
    message["content-type"] = content_type or "application/x-unknown"
    media_type = message.get_content_type() if content_type else ""
    charset = message.get_content_charset()
    return media_type, charset


def _looks_like_html(body: bytes) -> bool:
    return bool(re.search(rb"<(!doctype html|html|body|head)\b", body[:2048], re.IGNORECASE))


def _decoded(body: bytes, charset: str | None, *, html: bool) -> str:
    declared = re.search(rb"<meta[^>]+charset=[\"']?([\w-]+)", body[:4096], re.IGNORECASE) if html else None
    stated = (charset, declared[1].decode("ascii") if declared else None)
    return body.decode(next(filter(None, map(_known, stated)), "utf-8-sig"), "replace")


def _known(charset: str | None) -> str | None:
    """Returns Python's name for a charset that pages are written in; None for any other name."""
    try:
        name = codecs.lookup(charset or "").name
        b"x".decode(name, "replace")
    except (LookupError, ValueError):
        return None  # unknown, not a text encoding, or one that cannot decode damaged bytes
    return None if name.replace("_", "-") in _NO_CHARSETS else name


def _html(text: str, url: str) -> dict[str, str]:
    import trafilatura

    if "<html" not in text[:4096].lower():
        text = f"<html><body>{text}</body></html>"
    main = trafilatura.extract(text, url=url, output_format="markdown", include_links=True)
    about = trafilatura.extract_metadata(text, default_url=url, date_config=_STATED_DATES)
    known = {name: str(getattr(about, name, None) or "") for name in ("title", "author", "date")}
    return known | {"text": main or trafilatura.html2txt(text), "title": known["title"] or _title(text)}


def _title(text: str) -> str:
    match = re.search(r"<title[^>]*>(.{1,300}?)</title>", text[:20_000], re.IGNORECASE | re.DOTALL)
    return " ".join(match[1].split()) if match else ""


def _pdf(body: bytes) -> dict[str, str]:
    import pypdf

    try:
        reader = pypdf.PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ToolError("The PDF is encrypted and cannot be read. Use another source.")
        pages = [f"## Page {number}\n\n{page.extract_text()}" for number, page in _first_pages(reader)]
        about = reader.metadata
    except pypdf.errors.PyPdfError as error:
        raise ToolError(f"The PDF is damaged and cannot be read ({error}). Use another source.") from error
    total = len(reader.pages)
    remark = f"Only the first {_MAX_PDF_PAGES} of {total} pages were read." if total > _MAX_PDF_PAGES else ""
    date = str(about.creation_date.date()) if about and about.creation_date else ""
    known = {
        "title": (about.title if about else "") or "",
        "author": (about.author if about else "") or "",
        "date": date,
    }
    return {"text": "\n\n".join(pages), "remark": remark, **known}


def _first_pages(reader: Any) -> list[tuple[int, Any]]:
    most = min(len(reader.pages), _MAX_PDF_PAGES)
    return [(number + 1, reader.pages[number]) for number in range(most)]
