"""Which network addresses a tool may reach: public ones, and hosts that the operator allowed."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.ip_network("64:ff9b:1::/48")
_V4_COMPATIBLE = ipaddress.ip_network("::/96")
_PUBLIC_BUT_METADATA = frozenset({ipaddress.ip_address("168.63.129.16"), ipaddress.ip_address("100.100.100.200")})
"""Addresses at which clouds serve metadata though they look like any other."""


def is_public(text: str) -> bool:
    """Neither private, loopback, link-local, multicast, reserved nor metadata, nor a tunnel to one of those."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = _carried(address)
        if inner is not None:
            return is_public(str(inner))
        if address in _NAT64_LOCAL or address in _V4_COMPATIBLE:
            return False
    return address.is_global and not address.is_multicast and address not in _PUBLIC_BUT_METADATA


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour


@dataclass(frozen=True, slots=True)
class Guard:
    """`allowed`: host names, `host:port`, addresses or networks that may be reached though they are not public."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def allowing(cls, hosts: Iterable[str]) -> Guard:
        """A guard that lets these through too."""
        return cls(frozenset(host.lower() for host in hosts))

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether `address`, found for `host`, may be connected to."""
        name = host.lower().rstrip(".").strip("[]")
        if {name, f"{name}:{port}"} & self.allowed:
            return True
        return is_public(address) or self._in_allowed_network(address)

    def _in_allowed_network(self, text: str) -> bool:
        address = ipaddress.ip_address(text.partition("%")[0])
        for entry in self.allowed:
            try:
                if address in ipaddress.ip_network(entry, strict=False):
                    return True
            except ValueError:
                continue  # a name, not a network
        return False
