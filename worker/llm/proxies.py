"""Chooses a request's proxy by HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY; requests to this machine use none."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

from worker.core.errors import UserError
from worker.llm.address import login_secrets, without_password

DEFAULT_PORTS = {"http": 80, "https": 443}
SCHEMES = ("http", "https", "socks5", "socks5h")

Read = Callable[[str], str | None]
"""Returns the value of an environment variable."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """`url` may hold a password; `name` is shown to people."""

    url: str = field(repr=False)

    @property
    def name(self) -> str:
        return without_password(self.url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Its password, as written and decoded, and its login as it is sent."""
        return login_secrets(self.url.partition("://")[2].partition("/")[0].rpartition("@")[0])


def proxy_for(url: str, read: Read) -> Proxy | None:
    """Returns the proxy for this address; None if it is reached directly, as this machine always is."""
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return None  # not an address: sending to it reports that
    host = (parts.hostname or "").rstrip(".")
    named = _either(read, f"{parts.scheme}_proxy") or _either(read, "all_proxy")
    if not named or is_this_machine(host):
        return None
    if _exempt(host, port, _either(read, "no_proxy") or ""):
        return None
    return Proxy(named if "://" in named else f"http://{named}")


def is_this_machine(host: str) -> bool:
    """Whether the host is loopback, in any spelling, or an address such as 0.0.0.0 on which servers listen."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address is not None and (address.is_loopback or address.is_unspecified)


def client_through(
    proxy: Proxy | None,
    *,
    transport: httpx2.BaseTransport | None = None,
    limits: httpx2.Limits | None = None,
    **options: Any,
) -> httpx2.Client:
    """Returns a client that sends everything through `proxy`, or directly, whatever proxies the environment names.

    Raises `UserError` if the proxy cannot be used.
    """
    limits = limits or httpx2.Limits(max_connections=100, max_keepalive_connections=20)
    if proxy is None:
        return httpx2.Client(transport=transport or httpx2.HTTPTransport(limits=limits), **options)
    hint = "Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY."
    try:
        parts = urlsplit(proxy.url)
        if parts.scheme not in SCHEMES or not parts.hostname:
            raise ValueError(proxy.url)
        return httpx2.Client(proxy=proxy.url, limits=limits, **options)
    except ImportError as error:
        raise UserError(f"The proxy {proxy.name} needs a package that is missing: {error}", hint) from error
    except (ValueError, httpx2.InvalidURL):  # the error's text may hold the password
        like = ", ".join(f"{scheme}://host:port" for scheme in SCHEMES)
        raise UserError(f"The proxy {proxy.name} cannot be used: write it like {like}.", hint) from None


def _either(read: Read, name: str) -> str | None:
    """Reads the variable in either spelling; the lower-case one wins."""
    return read(name) or read(name.upper())


def _exempt(host: str, port: int, no_proxy: str) -> bool:
    entries = [entry for entry in re.split(r"[\s,]+", no_proxy.lower()) if entry]
    return any(_matches(host, port, entry) for entry in entries)


def _matches(host: str, port: int, entry: str) -> bool:
    """Whether an entry matches: `*`, a name (also its subdomains), an address or a network; a port may follow."""
    if entry == "*":
        return True
    found, address = _network(entry), _address(host)
    if found is not None:
        return address is not None and address in found
    name, _, wanted_port = entry.rpartition("://")[2].partition(":") if "[" not in entry else _bracketed(entry)
    if wanted_port and wanted_port != str(port):
        return False
    if address is not None:
        return address == _address(name)
    name = name.removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _bracketed(entry: str) -> tuple[str, str, str]:
    name, _, rest = entry.partition("[")[2].partition("]")
    return name, ":", rest.removeprefix(":")


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parses an address, also `127.1` and other short forms that the system's resolver accepts."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeEncodeError):
        return None
