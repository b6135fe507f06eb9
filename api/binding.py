"""Which addresses the API may listen on, and which host names it accepts."""

from __future__ import annotations

import ipaddress

from worker.core.errors import UserError
from worker.settings import Settings

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach the address."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(host: str, settings: Settings) -> None:
    """Raises `UserError` if the address is reachable from other machines and no key protects the API."""
    if is_loopback(host) or settings.admin_key:
        return
    message = f"The API would listen on {host}, where others can reach it, without a key."
    raise UserError(message, "Set STEPMILL_ADMIN_KEY, or bind 127.0.0.1.")


def host_name(header: str) -> str:
    """Returns the name in a Host header, without its port."""
    if header.startswith("["):
        return header.partition("]")[0] + "]"
    return header.partition(":")[0].lower()


def same_origin(origin: str, scheme: str, host: str) -> bool:
    """Returns whether an Origin header equals the origin that the request was sent to: scheme, host and port."""
    given_scheme, _, given_host = origin.lower().partition("://")
    return given_scheme == scheme and _with_port(given_host, scheme) == _with_port(host.lower(), scheme)


def _with_port(host: str, scheme: str) -> str:
    if (host.startswith("[") and host.endswith("]")) or ":" not in host:
        return f"{host}:{443 if scheme == 'https' else 80}"
    return host
