"""Quirks over HTTP: errors in many wordings, the bytes of replies, what a reply cost, keys that come back."""

from __future__ import annotations

import json
import re
import time
import tomllib
from typing import Any

import pytest

from tests.practice.quirky import FORMS, KEY, Endpoint, asked, corrected
from tests.services.waiting import wait_until
from worker.practice.quirks import QUIRKS
from worker.practice.quirks.errors import TABLE

TABLES: dict[str, dict[str, Any]] = tomllib.loads(TABLE.read_text())
SAMPLES = [(name, number) for name, table in TABLES.items() for number in range(1, len(table["samples"]) + 1)]
MARKED = {name for name, table in TABLES.items() if table["when"] == "marked"}


def longer(form: str, tokens: int) -> dict[str, Any]:
    """A conversation that is so much longer than its question."""
    body = asked(form, 1)
    body["messages"][-1]["content"] += " x" * (tokens * 2)
    return body


@pytest.mark.parametrize(("name", "number"), SAMPLES, ids=[f"{name}.{number}" for name, number in SAMPLES])
@pytest.mark.parametrize("form", FORMS)
def test_each_error_is_sent_as_its_table_says_with_every_blank_filled(
    endpoint: Endpoint, name: str, number: int, form: str
) -> None:
    sample, address = TABLES[name]["samples"][number - 1], f"{name}.{number}"
    body = asked(form)
    if name in MARKED:
        body["messages"][1]["content"] += " {{"
    if name == "context":
        assert endpoint.post(address, body).status_code == 200
        body = longer(form, 600)
    response = endpoint.post(address, body)
    assert response.status_code == sample["status"]
    assert not re.search(r"\{(?:model|key|prompt|window|tool|args_escaped|wait_\w+|at_\w+)\}", response.text)
    assert all(response.headers[key] and "{" not in response.headers[key] for key in sample.get("headers", {}))
    if sample["body"].startswith(("{", "[")):
        assert json.loads(response.text)


@pytest.mark.parametrize("form", FORMS)
def test_errors_of_a_first_try_are_over_at_the_second_and_lasting_ones_are_not(endpoint: Endpoint, form: str) -> None:
    for name, table in TABLES.items():
        if table["when"] in ("once", "always"):
            said = [endpoint.post(name, asked(form)).text for _ in range(3)]
            answered = ["chatcmpl-" in text for text in said]
            assert answered == ([False, True, False] if table["when"] == "once" else [False] * 3), name
            assert ("chatcmpl-" in endpoint.post(name, corrected(form)).text) == (table["when"] == "once")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(MARKED))
def test_an_error_about_one_text_leaves_other_texts_alone(endpoint: Endpoint, name: str, form: str) -> None:
    assert endpoint.post(name, asked(form)).status_code == 200
    marked = asked(form)
    marked["messages"][1]["content"] += " {{ name }}"
    assert {endpoint.post(name, marked).status_code for _ in range(3)} == {endpoint.post(name, marked).status_code}


@pytest.mark.parametrize("form", FORMS)
def test_a_prompt_is_too_long_only_while_it_is(endpoint: Endpoint, form: str) -> None:
    sent = [endpoint.post("context.1", body) for body in (asked(form), longer(form, 600), longer(form, 300))]
    assert [response.status_code for response in sent] == [200, 400, 200]
    assert re.search(r"resulted in \d{3,} tokens", sent[1].text)


def test_whoever_comes_back_too_early_is_refused_until_the_moment_that_was_named(endpoint: Endpoint) -> None:
    started = time.monotonic()
    assert '"retryDelay":"2s"' in endpoint.post("come-back.1", asked("native")).text
    assert endpoint.post("come-back.1", asked("native")).status_code == 429
    wait_until("it lets us in", lambda: endpoint.post("come-back.1", asked("native")).status_code == 200)
    assert time.monotonic() - started >= 1.5


def test_a_failed_generation_holds_the_call_that_was_meant(endpoint: Endpoint) -> None:
    error = endpoint.post("tool-use-failed.1", asked("native")).json()["error"]
    assert error["failed_generation"] == '<function=calculator>{"expression": "6 * 7"}</function>'
    assert endpoint.post("tool-use-failed.1", asked("native", 2)).status_code == 200, "an answer is no call"


@pytest.mark.parametrize(
    ("address", "begins", "ends", "holds"),
    [
        ("stream-unasked", b"data: {", b"data: [DONE]\n\n", b"chat.completion.chunk"),
        ("stream-as-json", b"data: {", b"data: [DONE]\n\n", b"chat.completion.chunk"),
        ("stream-commented", b": PROCESSING", b"data: [DONE]\n\n", b"event: message\r\n"),
        ("stream-unended", b"data: {", b"}\n\n", b"chat.completion.chunk"),
        ("done-behind.1", b"{", b"}\n\ndata: [DONE]\n\n", b""),
        ("done-behind.2", b"{", b"}data: [DONE]", b""),
        ("done-behind.3", b"data: {", b"}\n\ndata: [DONE]\n\n", b'"chat.completion"'),
        ("done-behind.4", b"{", b"}\n\x00\x00", b""),
        ("byte-order-mark", b"\xef\xbb\xbf{", b"}", b""),
        ("keep-alive.1", b"\n\n\n\n{", b"}", b""),
        ("keep-alive.2", b"     ", b"}\n", b"\r\n{"),
        ("keep-alive.3", b": PROCESSING\n\n", b"}", b""),
        ("keep-alive.4", b": keep-alive\n", b"}", b""),
        ("not-a-number.1", b"{", b"}", b'"logprob":NaN'),
        ("not-a-number.2", b"{", b"}", b'"score":-Infinity'),
        ("numbers-as-text", b"{", b"}", b'"index":"0"'),
        ("text-broken.1", b"{", b"}", b" \xff\xfe"),
        ("text-broken.2", b"{", b"}", b" \xc3"),
        ("text-broken.3", b"{", b"}", b" \\ud83d"),
        ("text-broken.4", b"{", b"}", b" \\udc00\\ud83d"),
        ("text-broken.5", b"{", b"}", b" \xed\xa0\xbd"),
        ("content-in-parts", b"{", b"}", b'"content":[{"type":"text"'),
        ("calls-null", b"{", b"}", b'"tool_calls":null'),
        ("bare", b'{"choices":', b'"finish_reason":"stop"}]}', b""),
        ("useless.1", b"", b"", b""),
        ("useless.2", b"<html>", b"</html>", b""),
        ("useless.3", b'{"choices": []}', b"", b""),
        ("useless.4", b'{"choices": null}', b"", b""),
        ("useless.5", b"null", b"", b""),
        ("useless.6", b"{}", b"", b""),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_whole_reply_comes_in_unusual_bytes(
    endpoint: Endpoint, address: str, begins: bytes, ends: bytes, holds: bytes, form: str
) -> None:
    content = endpoint.post(address, asked(form, 2)).content
    assert content.startswith(begins) and content.endswith(ends) and holds in content
    if not address.startswith(("useless", "stream", "content-in-parts")):
        assert b"6 * 7 = 42" in content


def test_arguments_may_come_as_an_object(endpoint: Endpoint) -> None:
    (call,) = endpoint.choice("arguments-as-object", asked("native"))["message"]["tool_calls"]
    assert call["function"]["arguments"] == {"expression": "6 * 7"}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_reply_cost_is_said_in_unusual_ways(endpoint: Endpoint, form: str) -> None:
    plain = endpoint.body("ending-whole.1", asked(form, 2))["usage"]
    prompt, written = plain["prompt_tokens"], plain["completion_tokens"]
    said = {
        name: endpoint.body(name, asked(form, 2)).get("usage", "none") for name in QUIRKS if name.startswith("usage-")
    }
    assert (said["usage-absent"], said["usage-null"], said["usage-empty"]) == ("none", None, {})
    assert (
        "completion_tokens" not in said["usage-partial"] and said["usage-partial"]["total_tokens"] == prompt + written
    )
    assert set(said["usage-prompt-only"]) == {"prompt_tokens", "prompt_tokens_details"}
    assert said["usage-thought"]["total_tokens"] > prompt + written == said["usage-thought"]["prompt_tokens"] + written
    assert said["usage-text"]["prompt_tokens"] == str(prompt)
    assert isinstance(said["usage-float"]["prompt_tokens"], float)
    assert said["usage-details-null"]["prompt_tokens_details"] is None
    assert said["usage-newer"] == {"input_tokens": prompt, "output_tokens": written}
    billed = {entry["quirks"][0]: entry["completion_tokens"] for entry in endpoint.server.ledger()}
    thought = said["usage-thought"]["total_tokens"] - prompt
    assert billed["usage-thought"] == thought and billed["usage-absent"] == written


@pytest.mark.parametrize("form", FORMS)
def test_a_key_comes_back_where_nobody_looks_for_one(endpoint: Endpoint, form: str) -> None:
    redirect = endpoint.post("key-in-redirect.2", asked(form))
    assert redirect.status_code == 307 and KEY in redirect.headers["location"]
    assert KEY in endpoint.post("key-in-error", asked(form)).text
    assert KEY in endpoint.choice("key-in-reply", asked(form, 2))["message"]["content"]
    assert KEY in endpoint.choice("key-in-ending", asked(form))["finish_reason"]
    assert KEY in endpoint.body("key-in-extras", asked(form))["choices"][0]["message"]["x_trace"]
    tool = endpoint.choice("key-in-tool-name", asked(form))["message"]
    name = tool["tool_calls"][0]["function"]["name"] if form == "native" else tool["content"]
    assert f"call-{KEY}" in name
