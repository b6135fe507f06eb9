"""The base URL of a model endpoint: checked, separated from its secrets, and extended by an operation's path."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, unquote_to_bytes, urlsplit

import httpx2

_SECRET_PARAMETER = re.compile(r"(?:key|token|secret|password|passwd|pwd|credential|signature)s?$|^(?:sig|code)$", re.I)
_HOST = re.compile(r"(?:\[[^\]]*\]|[^:\[\]]*)(?::\d+)?")
_OPERATION = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Address:
    """`url` may be stored and shown; `login` (user name and password) and `secret_query` (keys) may not."""

    url: str
    login: str = field(default="", repr=False)
    """`user:password` as written, percent-encoded if needed."""
    secret_query: str = field(default="", repr=False)

    def operation(self, path: str) -> str:
        """Returns this operation's URL: its path comes before the query, which is kept. Contains the query's keys."""
        base, _, query = self.url.partition("?")
        asked = "&".join(part for part in (query, self.secret_query) if part)
        return f"{base}/{path}" + (f"?{asked}" if asked else "")

    @property
    def authorization(self) -> str | None:
        """Returns the Basic authorization header for the login, or None."""
        return f"Basic {_encoded(self.login)}" if self.login else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Everything that must not be shown, also in the form in which it is sent."""
        values = [part.partition("=")[2] for part in self.secret_query.split("&")]
        return (*login_secrets(self.login), *filter(None, (*values, *map(unquote, values))))


def login_secrets(login: str) -> tuple[str, ...]:
    """Returns the secrets in `user:password`: the password as written and decoded, and both as they are sent."""
    password = login.partition(":")[2]
    return tuple(filter(None, (password, unquote(password), login and _encoded(login))))


def as_written(url: str, addresses: Iterable[str]) -> str:
    """Returns the address that is `url` with its secrets, or `url` itself if there is none."""
    for written in addresses:
        try:
            address = parse_address(written)
        except ValueError:
            continue  # reported when that address is used
        if address.url == url and (address.login or address.secret_query):
            return written
    return url


def parse_address(text: str) -> Address:
    """Raises ValueError, worded for people and without the secrets, if no client could send to the address.

    Drops an operation's path at the end (`…/chat/completions`), trailing slashes and a fragment.
    """
    parts = _usable(text.strip())
    if parts is None:
        shown = without_password(text)
        raise ValueError(f"the base URL {shown!r} cannot be used: write it like http://host:8000/v1")
    login, _, host = parts.netloc.rpartition("@")
    path = parts.path.rstrip("/").removesuffix(_OPERATION).rstrip("/")
    public, secret = _parted(parts.query)
    scheme = text.strip().partition(":")[0]  # as it was written: it is part of the endpoint's identity
    return Address(f"{scheme}://{host}{path}" + (f"?{public}" if public else ""), login, secret)


def without_password(url: str) -> str:
    """Returns the address without user name, password and keys, however malformed it is."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url.rpartition("@")[2]
    place, mark, query = rest.partition("?")
    authority, slash, path = place.partition("/")
    host = authority.rpartition("@")[2]
    if "@" in path + query and not _HOST.fullmatch(host):  # a password with an unescaped slash or question mark
        host, slash, path, mark, query = rest.rpartition("@")[2], "", "", "", ""
    public = _parted(query)[0]
    return scheme + separator + host + slash + path + (mark + public if public else "")


def _usable(url: str) -> SplitResult | None:
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        host = httpx2.URL(url).host
        named = bool(parts.hostname and host) and parts.port != 0
    except (ValueError, httpx2.InvalidURL):
        return None
    return parts if parts.scheme in ("http", "https") and named and not parts.path.startswith("//") else None


def _encoded(login: str) -> str:
    return base64.b64encode(unquote_to_bytes(login)).decode()


def _parted(query: str) -> tuple[str, str]:
    """Splits the query into the parameters that may be shown and those that are named like keys."""
    named = [(part, bool(_SECRET_PARAMETER.search(unquote(part.partition("=")[0])))) for part in query.split("&")]
    return "&".join(part for part, secret in named if not secret), "&".join(part for part, secret in named if secret)
