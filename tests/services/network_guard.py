"""Fails a test that opens a connection to anything but this machine, even where the code under test hides the error."""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import Any


class OutsideWorld(ConnectionError):
    """A test tried to leave the machine."""


class NetworkGuard:
    """An audit hook cannot be removed, so there is one for the process, switched on and off."""

    def __init__(self) -> None:
        self.active = False
        self.attempts: list[str] = []

    def install(self) -> None:
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active or event not in ("socket.connect", "socket.sendto"):
            return
        connection, address = args[0], args[1]
        if connection.family in (socket.AF_INET, socket.AF_INET6) and not is_local(str(address[0])):
            self.attempts.append(f"{address[0]}:{address[1]}")
            raise OutsideWorld(f"tests talk to this machine only, not to {address[0]}:{address[1]}")


def is_local(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
