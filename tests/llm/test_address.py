"""A base URL is valid, or gives one clear error; its secrets are used but neither stored nor shown."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.llm.address import as_written, parse_address, without_password
from worker.llm.endpoint import EndpointSettings

DEPLOYMENT = "https://host/openai/deployments/x"


@pytest.mark.parametrize(
    ("written", "kept", "sent"),
    [
        ("http://host:8000/v1", "http://host:8000/v1", "http://host:8000/v1/chat/completions"),
        ("http://host/v1///", "http://host/v1", "http://host/v1/chat/completions"),
        ("http://host", "http://host", "http://host/chat/completions"),
        ("  http://host/v1\n", "http://host/v1", "http://host/v1/chat/completions"),
        ("http://host/v1#part", "http://host/v1", "http://host/v1/chat/completions"),
        ("http://host/v1/chat/completions", "http://host/v1", "http://host/v1/chat/completions"),
        ("http://host/v1/chat/completions/", "http://host/v1", "http://host/v1/chat/completions"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
        (
            f"{DEPLOYMENT}?api-version=2026-01-01",
            f"{DEPLOYMENT}?api-version=2026-01-01",
            f"{DEPLOYMENT}/chat/completions?api-version=2026-01-01",
        ),
        (
            f"{DEPLOYMENT}/chat/completions?api-version=1&a=b%20c#x",
            f"{DEPLOYMENT}?api-version=1&a=b%20c",
            f"{DEPLOYMENT}/chat/completions?api-version=1&a=b%20c",
        ),
        ("https://me:pa%20ss@host/v1", "https://host/v1", "https://host/v1/chat/completions"),
        ("https://me@host/v1", "https://host/v1", "https://host/v1/chat/completions"),
        (
            "https://host/v1?subscription-key=abc&v=1",
            "https://host/v1?v=1",
            "https://host/v1/chat/completions?v=1&subscription-key=abc",
        ),
        ("https://host/v1?key=AIzaX", "https://host/v1", "https://host/v1/chat/completions?key=AIzaX"),
    ],
)
def test_an_address_is_kept_without_secrets_and_sent_to_with_its_query(written: str, kept: str, sent: str) -> None:
    address = parse_address(written)
    assert (address.url, address.operation("chat/completions")) == (kept, sent)
    assert EndpointSettings("m", base_url=written).base_url == kept
    assert parse_address(kept).url == kept, "what is stored reads back as itself"


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "host:8000/v1",
        "localhost/v1",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "http://:8000/v1",
        "http://host:0/v1",
        "http://host:99999/v1",
        "http://host:port/v1",
        "http://ho st/v1",
        "http://host/v 1",
        "http://host/v1\nx",
        "http://http://host/v1",
        '"http://host/v1"',
        "http//host/v1",
        "http://[::1/v1",
    ],
)
def test_what_is_no_address_is_one_clear_error(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be used: write it like http://host:8000/v1"):
        parse_address(wrong)


SECRET = "s3cr3t-word"


@pytest.mark.parametrize(
    "wrong",
    [
        f"http://me:{SECRET}@host:port/v1",
        f"http://me:{SECRET}/tail@host/v1",
        f"http://me:{SECRET}?tail@host/v1",
        f"http://me:x/{SECRET}@host/v1",
        f"http://me:x?{SECRET}@host/v1",
        f"me:{SECRET}@host/v1",
        f"http//me:{SECRET}@host/v1",
        f"ftp://me:{SECRET}@host/v1?key={SECRET}",
        f"http://me:{SECRET}@ho st/v1",
        f"http://http://me:{SECRET}@host/v1",
    ],
)
def test_no_secret_is_told_where_an_address_is_wrong(wrong: str) -> None:
    with pytest.raises(ValueError, match="cannot be used") as caught:
        parse_address(wrong)
    assert SECRET not in str(caught.value)
    assert "host" in without_password(wrong).replace(" ", ""), "the rest is told"


LOGINS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1)


@given(LOGINS, LOGINS)
def test_a_login_is_sent_as_such_and_is_in_no_text(user: str, password: str) -> None:
    address = parse_address(f"https://{user}:{password}@host.example/v1")
    sent = (address.authorization or "").removeprefix("Basic ")
    assert base64.b64decode(sent).decode() == f"{user}:{password}"
    assert {password, sent} <= set(address.secrets)
    assert address.url == "https://host.example/v1"
    assert f"{user}:{password}@" not in repr(address)


def test_the_secrets_come_from_the_address_as_this_machine_writes_it() -> None:
    written = ["no address", "https://host/v1", "https://me:pw@host/v1/", "https://other:pw@elsewhere/v1"]
    assert as_written("https://host/v1", written) == "https://me:pw@host/v1/"
    assert as_written("https://host/v2", written) == "https://host/v2"


@pytest.mark.parametrize(
    ("url", "model", "name"),
    [
        ("http://127.0.0.1:8000/v1", "m", "a5422ad6329ad1e5"),
        ("http://127.0.0.1:8000/v1/", "m", "a5422ad6329ad1e5"),
        ("HTTPS://Api.Example/v1", "m", "0e0fded968d6d3a9"),
    ],
)
def test_an_endpoint_keeps_the_name_that_it_had_in_the_first_version(url: str, model: str, name: str) -> None:
    assert EndpointSettings(model, base_url=url).endpoint_id == name
