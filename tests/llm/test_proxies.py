"""Which proxy a request takes: never one to this machine; and errors name it without its password."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator

import pytest

from tests.llm.servers import Connection, RawServer, answering, completion, http, serving
from worker.core.errors import AccessDenied, EndpointFailed, Unreachable
from worker.llm.client import ModelClients, ModelReply
from worker.llm.endpoint import EndpointSettings
from worker.llm.proxies import Read, proxy_for
from worker.llm.watchdog import Abort

PROXY = "http://me:pass-word-of-proxy@127.0.0.1:9"
ALL = {"HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY, "ALL_PROXY": PROXY}
NO_TUNNEL = http(403, b"")


def chosen(url: str, **variables: str) -> str | None:
    proxy = proxy_for(url, variables.get)
    return proxy.name if proxy else None


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST", "a.localhost", "localhost.", "127.0.0.1", "127.8.9.10", "127.1", "[::1]", "0.0.0.0",
     "[::]", "[::ffff:127.0.0.1]"],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_this_machine_is_never_reached_through_a_proxy(scheme: str, host: str) -> None:
    assert chosen(f"{scheme}://{host}:8000/v1", **ALL) is None


@pytest.mark.parametrize("host", ["host.example", "10.0.0.5", "192.168.1.1", "[fd00::1]", "notlocalhost", "128.0.0.1"])
def test_other_hosts_are_private_ones_too(host: str) -> None:
    assert chosen(f"https://{host}/v1", **ALL) == "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        ("*", True),
        ("host.example", True),
        ("example", True),
        (".example", True),
        ("*.example", True),
        ("HOST.Example", True),
        ("a, b ,host.example", True),
        ("a host.example", True),
        ("host.example:443", True),
        ("https://host.example", True),
        ("host.example:8443", False),
        ("ost.example", False),
        ("other.example", False),
        (".", False),
        (",", False),
        ("10.0.0.0/8", False),
    ],
)
def test_no_proxy_names_hosts(no_proxy: str, direct: bool) -> None:
    assert (chosen("https://host.example/v1", HTTPS_PROXY=PROXY, NO_PROXY=no_proxy) is None) is direct
    assert (chosen("https://host.example/v1", HTTPS_PROXY=PROXY, no_proxy=no_proxy) is None) is direct


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [("10.0.0.0/8", True), ("10.0.0.5", True), ("10.0.0.5:8000", True), ("10.0.0.5:80", False), ("11.0.0.0/8", False),
     ("0.0.5", False), ("host", False)],
)  # fmt: skip
def test_no_proxy_names_addresses_and_networks(no_proxy: str, direct: bool) -> None:
    assert (chosen("http://10.0.0.5:8000/v1", HTTP_PROXY=PROXY, NO_PROXY=no_proxy) is None) is direct


@pytest.mark.parametrize(
    ("no_proxy", "direct"), [("fd00::/8", True), ("fd00::1", True), ("[fd00::1]:8000", True), ("[fd00::1]:80", False)]
)
def test_no_proxy_names_addresses_of_version_6(no_proxy: str, direct: bool) -> None:
    assert (chosen("http://[fd00::1]:8000/v1", HTTP_PROXY=PROXY, NO_PROXY=no_proxy) is None) is direct


def test_each_scheme_has_its_proxy_and_lower_case_comes_first() -> None:
    one, two, three = (f"http://{name}:1" for name in ("one", "two", "three"))
    assert chosen("https://host/", HTTP_PROXY=one) is None
    assert chosen("https://host/", HTTP_PROXY=one, ALL_PROXY=two) == two
    assert chosen("https://host/", HTTPS_PROXY=one, ALL_PROXY=two, https_proxy=three) == three
    assert chosen("http://host/", http_proxy="one:1") == one, "http is meant where no scheme is written"


@pytest.fixture
def calling() -> Iterator[Callable[..., ModelReply]]:
    """Calls `http://model.example/v1` with these variables."""
    opened: list[ModelClients] = []

    def call(url: str = "http://model.example/v1", **variables: str) -> ModelReply:
        read: Read = variables.get
        clients = ModelClients(read)
        opened.append(clients)
        endpoint = EndpointSettings("m", base_url=url)
        return clients.client(endpoint).complete(endpoint.request([]), 20, Abort())

    yield call
    for clients in opened:
        clients.close()


def proxy_url(server: RawServer) -> str:
    return f"http://me:pass-word-of-proxy@127.0.0.1:{server.port}"


def test_a_call_goes_through_the_proxy_and_logs_in_there(calling: Callable[..., ModelReply]) -> None:
    with serving(answering(http(200, completion("from afar")))) as proxy:
        assert calling(http_proxy=proxy_url(proxy)).reply.text == "from afar"
    asked = proxy.requests[0]
    assert asked.path == "http://model.example/v1/chat/completions"
    login = base64.b64encode(b"me:pass-word-of-proxy").decode()
    assert asked.headers["proxy-authorization"] == f"Basic {login}"


def test_a_call_to_this_machine_passes_every_proxy_by(calling: Callable[..., ModelReply]) -> None:
    broken = {"ALL_PROXY": "socks9://nowhere", "HTTP_PROXY": "http://127.0.0.1:9"}
    with serving(answering(http(200, completion("here")))) as server:
        assert calling(server.base_url, **broken).reply.text == "here"


def refuses_tunnels(connection: Connection) -> None:
    connection.read_request()
    connection.send(NO_TUNNEL)


def test_errors_name_the_proxy_without_its_password(calling: Callable[..., ModelReply]) -> None:
    with serving(answering(http(502, b"upstream is away, said me:pass-word-of-proxy"))) as proxy:
        with pytest.raises(EndpointFailed, match=rf"502.*\(through the proxy http://127.0.0.1:{proxy.port}\)") as bad:
            calling(HTTP_PROXY=proxy_url(proxy))
        free = f"http://me:pass-word-of-proxy@127.0.0.1:{proxy.port}"
    with pytest.raises(Unreachable, match=r"http://model.example/v1 \(through the proxy http://127.0.0.1") as gone:
        calling(HTTP_PROXY=free)
    with serving(refuses_tunnels) as proxy, pytest.raises(Unreachable, match=r"https://.*through the proxy") as shut:
        calling("https://model.example/v1", HTTPS_PROXY=proxy_url(proxy))
    assert not [one for one in (bad, gone, shut) if "pass-word" in str(one.value)]


def test_a_proxy_that_wants_a_login_says_so_and_blames_no_key(calling: Callable[..., ModelReply]) -> None:
    with (
        serving(answering(http(407, b"<html>authenticate</html>"))) as proxy,
        pytest.raises(AccessDenied, match=r"the proxy .* needs a login; add it to the proxy's variable"),
    ):
        calling(HTTP_PROXY=f"http://127.0.0.1:{proxy.port}")


@pytest.mark.parametrize("wrong", ["ftp://me:pass-word@host", "http://me:pass-word@host:port", "socks4://h", "http://"])
def test_a_proxy_that_cannot_be_used_is_the_operators_to_mend(calling: Callable[..., ModelReply], wrong: str) -> None:
    with pytest.raises(AccessDenied, match=r"The proxy .*(HTTP_PROXY|NO_PROXY)") as caught:
        calling(HTTP_PROXY=wrong)
    assert "pass-word" not in str(caught.value)
