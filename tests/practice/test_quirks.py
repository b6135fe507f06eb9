"""Quirks over HTTP: how replies end, calls that leak into text, what must come back, what is not taken."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

import pytest
from click.testing import CliRunner

from tests.practice.quirky import FORMS, Body, Endpoint, asked, corrected
from worker.cli.simulate import simulate_command
from worker.practice import Config
from worker.practice.quirks import QUIRKS
from worker.practice.quirks.endings import BROKEN, FILTERED, LENGTH, MISSHAPEN, NO_CALL, WHOLE
from worker.practice.quirks.leaks import PLACES
from worker.practice.quirks.markup import MARKUP

END = re.compile(r"answered|paused|error:[a-z_]+")


def test_every_quirk_says_what_it_does_and_what_should_become_of_a_question() -> None:
    for name, quirk in QUIRKS.items():
        assert re.fullmatch(r"[a-z0-9-]+", name) and quirk.name == name
        assert quirk.about and not quirk.about.endswith(".") and quirk.samples > 0
        assert all(END.fullmatch(end) for end in f"{quirk.end}|{quirk.native_end or quirk.end}".split("|")), name


def test_the_command_lists_every_quirk_on_a_line_and_says_which_name_was_meant() -> None:
    listed = CliRunner().invoke(simulate_command, ["--quirk", "list"])
    assert [line.split()[0] for line in listed.output.splitlines()] == list(QUIRKS)
    wrong = CliRunner().invoke(simulate_command, ["--quirk", "mony"])
    assert wrong.exit_code == 2 and "did you mean money" in wrong.output


@pytest.mark.parametrize("name", ["nothing-of-the-kind", "ending-length.9", "ending-length.0", "ending-length.x"])
def test_a_quirk_that_there_is_not_is_named_in_the_error(endpoint: Endpoint, name: str) -> None:
    response = endpoint.post(name, asked("react_json"))
    assert response.status_code == 404 and name.partition(".")[0] in response.json()["error"]["message"]
    with pytest.raises(ValueError, match=re.escape(name.partition(".")[0])):
        Config().changed({"quirks": [name]})


def test_quirks_of_the_settings_and_of_the_address_are_played_together(endpoint: Endpoint) -> None:
    endpoint.server.control(quirks=["usage-absent"])
    found = endpoint.body("ending-whole.2+byte-order-mark", asked("native"))
    assert "usage" not in found and found["choices"][0]["finish_reason"] == WHOLE[1]
    (entry,) = endpoint.server.ledger()
    assert entry["quirks"] == ["usage-absent", "ending-whole.2", "byte-order-mark"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "reasons"),
    [("ending-whole", WHOLE), ("ending-broken", BROKEN), ("ending-length", LENGTH), ("ending-filter", FILTERED)],
)
def test_an_ending_has_each_of_its_spellings_and_cuts_what_is_not_whole(
    endpoint: Endpoint, name: str, reasons: Sequence[str | None], form: str
) -> None:
    whole = endpoint.choice("usage-null", asked(form, 2))["message"]["content"]
    for number, reason in enumerate(reasons, start=1):
        choice = endpoint.choice(f"{name}.{number}", asked(form, 2))
        said = choice["message"]["content"]
        assert choice["finish_reason"] == reason
        assert said == whole if name == "ending-whole" else 0 < len(said) < len(whole) and whole.startswith(said)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["ending-broken", "error-in-choice", "error-at-top", "reply-empty", "ending-length"])
def test_a_fault_of_the_first_try_is_over_at_the_second_and_comes_again_with_the_question(
    endpoint: Endpoint, name: str, form: str
) -> None:
    whole = endpoint.choice("usage-null", asked(form))["message"]
    said = [endpoint.choice(name, asked(form))["message"] for _ in range(3)]
    assert [message == whole for message in said] == [False, True, False]
    assert endpoint.choice(name, corrected(form))["message"]["content"], "told to write properly, it does"


@pytest.mark.parametrize("form", FORMS)
def test_an_error_stands_beside_half_a_message(endpoint: Endpoint, form: str) -> None:
    in_choice, at_top = (endpoint.body(name, asked(form, 2)) for name in ("error-in-choice", "error-at-top"))
    assert in_choice["choices"][0]["error"] and at_top["error"]
    assert in_choice["choices"][0]["message"]["content"]


@pytest.mark.parametrize("form", FORMS)
def test_a_call_is_announced_and_is_not_there(endpoint: Endpoint, form: str) -> None:
    for name, reasons in (("call-announced", NO_CALL), ("call-malformed", MISSHAPEN)):
        for number, reason in enumerate(reasons, start=1):
            choice = endpoint.choice(f"{name}.{number}", asked(form))
            assert choice["finish_reason"] == reason and "tool_calls" not in choice["message"]
            assert "Action" not in choice["message"]["content"]
    labelled = endpoint.choice("call-announced-as-answer", asked("react_json"))
    assert labelled["message"]["content"].startswith("Answer: ") and labelled["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("form", FORMS)
def test_thinking_takes_the_whole_output_limit_until_the_limit_is_high_enough(endpoint: Endpoint, form: str) -> None:
    short = endpoint.body("thinking-long.1", asked(form) | {"max_tokens": 4096})
    message = short["choices"][0]["message"]
    assert not message["content"] and message["reasoning_content"] and short["usage"]["completion_tokens"] == 4096
    enough = asked(form) | {"max_tokens": 8192}
    assert endpoint.choice("thinking-long.1", enough)["finish_reason"] in ("stop", "tool_calls")
    assert endpoint.choice("thinking-endless.1", enough)["finish_reason"] == "length"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MARKUP)
def test_a_leaked_call_is_text_in_each_place_and_is_written_properly_when_asked_for(
    endpoint: Endpoint, name: str, form: str
) -> None:
    said = []
    for number in range(len(PLACES)):
        choice = endpoint.choice(f"leak-{name}.{number + 1}", asked(form))
        assert "tool_calls" not in choice["message"] and choice["finish_reason"] == "stop"
        said.append(choice["message"]["content"])
    assert len(set(said)) == len(PLACES)
    assert all("calculator" in text and "6 * 7" in text for number, text in enumerate(said) if number != 4)
    assert said[2].startswith("Answer: ") or form == "native"
    proper = endpoint.choice(f"leak-{name}", corrected(form))["message"]
    assert proper.get("tool_calls") or "Action: calculator" in proper["content"]


@pytest.mark.parametrize("form", FORMS)
def test_markup_that_is_explained_stands_in_backticks_or_a_fence_behind_the_answer(
    endpoint: Endpoint, form: str
) -> None:
    whole = endpoint.choice("usage-null", asked(form, 2))["message"]["content"]
    for number in range(len(MARKUP)):
        said = endpoint.choice(f"leak-explained.{number + 1}", asked(form, 2))["message"]["content"]
        assert said.startswith(whole) and ("~~~" in said or "`" in said)


def returned(endpoint: Endpoint, quirk: str, form: str) -> tuple[Body, Body]:
    """A reply of the endpoint, and the request that gives it back with a result."""
    reply = endpoint.choice(quirk, asked(form))["message"]
    body = asked(form)
    body["messages"].append(copy.deepcopy(reply))
    for call in reply.get("tool_calls") or ():
        body["messages"].append({"role": "tool", "tool_call_id": call.get("id"), "content": "6 * 7 = 42"})
    if not reply.get("tool_calls"):
        body["messages"].append({"role": "user", "content": "Observation: 6 * 7 = 42"})
    return reply, body


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("quirk", "field"),
    [
        ("reasoning-returned", "reasoning_content"),
        ("reasoning-details-returned", "reasoning_details"),
        ("state-returned", "x_state"),
    ],
)
def test_a_field_of_a_reply_must_come_back_as_it_was(endpoint: Endpoint, quirk: str, field: str, form: str) -> None:
    reply, body = returned(endpoint, quirk, form)
    assert reply[field] and endpoint.takes(quirk, body)
    body["messages"][2][field] = "another"
    assert not endpoint.takes(quirk, body)
    del body["messages"][2][field]
    assert not endpoint.takes(quirk, body)


def test_a_signature_must_come_back_with_its_call(endpoint: Endpoint) -> None:
    reply, body = returned(endpoint, "signature", "native")
    assert reply["tool_calls"][0]["extra_content"]["google"]["thought_signature"]
    assert endpoint.takes("signature", body)
    del body["messages"][2]["tool_calls"][0]["extra_content"]
    assert not endpoint.takes("signature", body)


@pytest.mark.parametrize("form", FORMS)
def test_reasoning_may_be_refused_when_it_comes_back(endpoint: Endpoint, form: str) -> None:
    _, body = returned(endpoint, "reasoning-refused", form)
    assert not endpoint.takes("reasoning-refused", body)
    del body["messages"][2]["reasoning_content"]
    assert endpoint.takes("reasoning-refused", body)


NATIVE = asked("native", 2)
LAST_WORDS = {"role": "user", "content": "This is the last step: answer now."}
CASES: list[tuple[str, Body, Body]] = [
    ("ids-of-nine", NATIVE, asked("native", 1, call={"id": "call_0123456789"})),
    ("ids-missing", NATIVE, asked("native", 1, call={"id": None})),
    ("ids-repeated", NATIVE, asked("native", 2, call={"id": "abcdefgh1"})),
    ("order", NATIVE, {**NATIVE, "messages": [*NATIVE["messages"], LAST_WORDS]}),
    ("alternation", asked("react_json", 1), {**NATIVE, "messages": [*asked("react_json", 1)["messages"], LAST_WORDS]}),
    ("content-null", asked("native", 1, content=""), asked("native", 1, content=None)),
    ("content-empty", asked("native", 1, content=None), asked("native", 1, content="")),
    *[(name, NATIVE, NATIVE | {field: value}) for name, field, value in [
        ("temperature-refused", "temperature", 0), ("stop-refused", "stop", ["x"]), ("stream-refused", "stream", False),
        ("max-tokens-renamed", "max_tokens", 100), ("max-tokens-old", "max_completion_tokens", 100),
        ("fields-refused", "stop", ["x"]), ("fields-forbidden", "stream", False),
    ]],
    ("system-refused", {**NATIVE, "messages": NATIVE["messages"][1:]}, NATIVE),
    ("thinking-refused", NATIVE | {"enable_thinking": False}, NATIVE),
    ("tools-refused", asked("react_json"), NATIVE),
    ("output-capped", NATIVE | {"max_tokens": 1500}, NATIVE | {"max_tokens": 1501}),
    ("output-left", NATIVE | {"max_tokens": 1500}, NATIVE | {"max_completion_tokens": 4096}),
]  # fmt: skip


@pytest.mark.parametrize(("quirk", "good", "bad"), CASES, ids=[case[0] for case in CASES])
def test_an_endpoint_takes_what_suits_it_and_refuses_the_rest_in_each_wording(
    endpoint: Endpoint, quirk: str, good: Body, bad: Body
) -> None:
    for number in range(1, QUIRKS[quirk].samples + 1):
        assert endpoint.takes(f"{quirk}.{number}", good)
        assert not endpoint.takes(f"{quirk}.{number}", bad)


@pytest.mark.parametrize(("quirk", "ids"), [("ids-missing", [None, None]), ("ids-repeated", ["call_0", "call_0"])])
def test_calls_come_with_ids_that_are_none(endpoint: Endpoint, quirk: str, ids: list[Any]) -> None:
    found = [endpoint.choice(f"{quirk}.1", asked("native", steps))["message"]["tool_calls"] for steps in (0, 1)]
    assert [calls[0].get("id") for calls in found] == ids


def test_a_version_may_be_wanted_in_the_address(endpoint: Endpoint) -> None:
    assert QUIRKS["query"].query == "api-version=2024-10-21"
    assert endpoint.post("query", NATIVE).status_code == 404
    assert endpoint.post("query", NATIVE, "?api-version=2024-10-21").status_code == 200
