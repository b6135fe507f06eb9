"""The schema as an interactive page, made only of files in this package."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

from api.problems import NotFound

router = APIRouter(prefix="/docs", include_in_schema=False)

_HERE = Path(__file__).parent.parent
_PAGES, _SWAGGER = _HERE / "pages", _HERE / "vendor" / "swagger-ui"
_FILES = {
    "start.js": (_PAGES / "start.js", "text/javascript"),
    "swagger-ui-bundle.js": (_SWAGGER / "swagger-ui-bundle.js", "text/javascript"),
    "swagger-ui.css": (_SWAGGER / "swagger-ui.css", "text/css"),
}
_HEADERS = {
    # The page has inline styles, and data: icons in its style sheet; everything else comes from this server.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


@router.get("")
def page() -> FileResponse:
    """Returns the page; enter the key with Authorize."""
    return FileResponse(_PAGES / "docs.html", media_type="text/html", headers=_HEADERS)


@router.get("/{name}")
def part(name: str) -> FileResponse:
    """Returns a script or a style sheet of the page."""
    if name not in _FILES:
        raise NotFound(f"There is no {name!r} among the files of /docs.")
    path, media_type = _FILES[name]
    return FileResponse(path, media_type=media_type, headers=_HEADERS)
