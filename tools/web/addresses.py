"""Which network addresses a tool may reach: public ones, and hosts that the operator allowed."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_network = ipaddress.ip_network
_GLOBAL_V6 = _network("2000::/3")
"""Everything allocated for the public internet (IANA, IPv6 address space); the rest is private, special or unused."""
_NOT_GLOBAL_V6 = [
    _network(text)
    for text in (
        "2001::/23",  # protocol assignments: ORCHID, benchmarking, …; Teredo, one of them, is checked first
        "2001:db8::/32", "3fff::/20",  # documentation
        "3ffe::/16",  # the former test network
    )
]  # fmt: skip
_NOT_GLOBAL_V4 = [_network("192.0.0.0/24"), _network("192.88.99.0/24")]
_NAT64 = _network("64:ff9b::/96")
_TRANSLATED = _network("::ffff:0:0:0/96")
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16"), ipaddress.ip_address("100.100.100.200")})
"""Addresses at which clouds serve metadata although they look like any other."""
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
_LOW_32 = 0xFFFF_FFFF


def is_public(text: str) -> bool:
    """Whether it is public: not private, loopback, link-local, multicast, reserved, metadata, or a way there."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        listed = any(address in network for network in _NOT_GLOBAL_V4)
        return address.is_global and not address.is_multicast and not listed and address not in _METADATA
    carried = _carried(address)
    if carried is not None:
        return is_public(str(carried))
    return address in _GLOBAL_V6 and address.is_global and not any(address in network for network in _NOT_GLOBAL_V6)


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Returns the IPv4 address that an IPv6 one leads to: mapped, translated, or tunnelled; else None."""
    low = ipaddress.IPv4Address(int(address) & _LOW_32)
    if address in _NAT64 or address in _TRANSLATED or (int(address) >> 32 & _LOW_32) in _ISATAP:
        return low
    if address.teredo:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour


@dataclass(frozen=True, slots=True)
class Guard:
    """`allowed`: host names, `host:port`, addresses or networks that may be reached although they are not public."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def allowing(cls, hosts: Iterable[str]) -> Guard:
        """Returns a guard that also allows these."""
        return cls(frozenset(host.lower() for host in hosts))

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether a connection to `address`, found for `host`, is allowed."""
        return is_public(address) or self.names(host, port, address)

    def names(self, host: str, port: int, address: str) -> bool:
        """Whether the operator allowed exactly this host, port or address."""
        name = host.lower().rstrip(".").strip("[]")
        return bool({name, f"{name}:{port}"} & self.allowed) or self._in_allowed_network(address)

    def _in_allowed_network(self, text: str) -> bool:
        address = ipaddress.ip_address(text.partition("%")[0])
        for entry in self.allowed:
            try:
                if address in ipaddress.ip_network(entry, strict=False):
                    return True
            except ValueError:
                continue  # a name, not a network
        return False
