"""Addresses inside the network are not reached, however they are written and whatever leads to them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import httpcore2
import pytest

from tests.tools.escapes import ADDRESS_ESCAPES
from tests.tools.web_server import WebServer
from tools.base import ToolContext, ToolError
from tools.fetch_url import fetch_url
from tools.web import addresses, guarded
from tools.web.addresses import Guard, is_public
from tools.web.get import GetLimits, get

SECRET = "metadata of this machine"
NOTHING_ALLOWED = ToolContext(settings={})


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        server.text("/secret", SECRET, "text/plain")
        yield server


@pytest.mark.parametrize("escape", ADDRESS_ESCAPES)
def test_an_address_within_is_not_reached(escape: str, web: WebServer) -> None:
    url = ADDRESS_ESCAPES[escape].format(port=web.port, own_name=socket.gethostname())
    with pytest.raises(ToolError) as caught:
        fetch_url.call({"url": url}, NOTHING_ALLOWED)
    assert SECRET not in caught.value.message
    assert web.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["http://127.0.0.2:{port}/secret", "//[::1]:{port}/secret", "file:///etc/passwd"])
def test_a_redirect_within_is_not_followed(status: int, to: str, web: WebServer) -> None:
    web.redirect("/go", to.format(port=web.port), status)
    with pytest.raises(ToolError, match=r"private network|Only http and https"):
        fetch_url.call(f"{web.url}/go", ToolContext(settings={"STEPMILL_FETCH_ALLOW_HOSTS": "127.0.0.1"}))
    assert [path for path, _ in web.requests] == ["/go"]


@pytest.mark.parametrize("to", ["http://[", "http://:99999999/", "\x00", "", "?" * 9000])
def test_a_redirect_to_nonsense_is_told(to: str, web: WebServer) -> None:
    web.redirect("/go", to)
    with pytest.raises(ToolError) as caught:
        fetch_url.call(f"{web.url}/go", ToolContext(settings={"STEPMILL_FETCH_ALLOW_HOSTS": "127.0.0.1"}))
    assert type(caught.value) is ToolError


def test_redirects_without_end_are_given_up(web: WebServer) -> None:
    web.redirect("/loop", "/loop")
    with pytest.raises(ToolError, match="redirects more than 5 times"):
        fetch_url.call(f"{web.url}/loop", ToolContext(settings={"STEPMILL_FETCH_ALLOW_HOSTS": "127.0.0.1"}))
    assert len(web.requests) == 6


def test_a_name_that_leads_to_a_public_and_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def both(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    monkeypatch.setattr(guarded, "_resolve", both)
    with pytest.raises(ToolError, match=r"leads to 127\.0\.0\.1"):
        asyncio.run(get("http://both.example/", Guard(), GetLimits()))


def test_a_name_that_is_rebound_after_the_check_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is resolved once, and the connection goes to the address that was checked."""
    asked: list[str] = []
    connected: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"]

    async def connect(self: object, host: str, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        connected.append(host)
        raise httpcore2.ConnectError("unreachable in tests")

    monkeypatch.setattr(guarded, "_resolve", rebinding)
    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect)
    with pytest.raises(ToolError, match="unreachable in tests"):
        asyncio.run(get("http://rebind.example/", Guard(), GetLimits()))
    assert (asked, connected) == (["rebind.example"], ["93.184.216.34"])


def test_the_connected_sockets_own_peer_is_checked_too(monkeypatch: pytest.MonkeyPatch, web: WebServer) -> None:
    real = httpcore2.AnyIOBackend.connect_tcp

    async def public(host: str, port: int) -> list[str]:
        return ["93.184.216.34"]

    async def elsewhere(self: httpcore2.AnyIOBackend, host: str, port: int, *args: Any) -> httpcore2.AsyncNetworkStream:
        return await real(self, "127.0.0.1", port, *args)

    monkeypatch.setattr(guarded, "_resolve", public)
    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", elsewhere)
    with pytest.raises(ToolError, match="an address that tools may not reach"):
        asyncio.run(get(f"http://translated.example:{web.port}/secret", Guard(), GetLimits()))
    assert web.requests == []


def test_a_public_address_of_this_very_machine_is_not_reached(monkeypatch: pytest.MonkeyPatch, web: WebServer) -> None:
    """No firewall stands between a machine and itself, whatever its address."""
    monkeypatch.setattr(addresses, "is_public", lambda _: True)
    with pytest.raises(ToolError, match=r"127\.0\.0\.1 is this machine itself"):
        asyncio.run(get(f"{web.url}/secret", Guard(), GetLimits()))
    assert web.requests == []
    assert asyncio.run(get(f"{web.url}/secret", Guard.allowing(["127.0.0.1"]), GetLimits())).body.decode() == SECRET


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.0/8", "localhost", "localhost:{port}"])
def test_what_the_operator_allows_is_reached(allowed: str, web: WebServer) -> None:
    host = "localhost" if "localhost" in allowed else "127.0.0.1"
    guard = Guard.allowing([allowed.format(port=web.port)])
    assert asyncio.run(get(f"http://{host}:{web.port}/secret", guard, GetLimits())).body.decode() == SECRET


def test_an_allowed_port_allows_no_other(web: WebServer) -> None:
    with pytest.raises(ToolError, match="private network"):
        asyncio.run(get(f"http://localhost:{web.port}/secret", Guard.allowing(["localhost:1"]), GetLimits()))


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)
