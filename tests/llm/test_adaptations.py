"""A model that refuses part of a request is asked again without it, and the caller learns what helped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.llm.servers import Connection, RawServer, completion, http, serving
from worker.core.errors import CallEnded, ContextOverflow, ModelRejected, OutputLimitTooLarge, UnknownError
from worker.core.records import Adaptation, JsonObject
from worker.llm.adaptations import KINDS, Refusal, adapt, change_for, described, users_own
from worker.llm.classify import from_status
from worker.llm.client import ModelClient, ModelReply
from worker.llm.endpoint import ModelRequest
from worker.llm.errorbody import read_error
from worker.llm.watchdog import Abort

MESSAGES = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "What is 2 + 2?"}]
REQUEST = ModelRequest("m", MESSAGES, temperature=0.0, stop=("x",), max_output_tokens=4096)
SENT: JsonObject = {"model": "m", "messages": MESSAGES, "temperature": 0.0, "stop": ["x"], "stream": False,
                    "max_tokens": 4096, "tools": []}  # fmt: skip


def unsupported(name: str) -> bytes:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    error = {"message": message, "type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}
    return http(400, json.dumps({"error": error}).encode())


def refusing(*names: str) -> Any:
    def serve(connection: Connection) -> None:
        while request := connection.read_request():
            refused = next((name for name in names if name in request.body), None)
            connection.send(unsupported(refused) if refused else http(200, completion()))

    return serve


def ask(server: RawServer, request: ModelRequest = REQUEST, known: Sequence[Adaptation] = ()) -> ModelReply:
    client = ModelClient(server.base_url)
    try:
        return client.complete(request, 20, Abort(), known)
    finally:
        client.close()


def features(adaptations: Sequence[Adaptation]) -> dict[str, Any]:
    return {one.feature: one.value for one in adaptations}


def test_a_reasoning_model_is_asked_again_without_what_it_refuses_and_its_limit_stays() -> None:
    with serving(refusing("max_tokens", "temperature", "stop")) as server:
        first = ask(server)
        second = ask(server, known=first.learned)
    wanted = {"renamed:max_tokens": "max_completion_tokens", "without:temperature": None, "without:stop": None}
    assert features(first.learned) == wanted
    assert second.learned == (), "what is known is not learned again"
    assert len(server.requests) == 5, "three refusals, then one request a call"
    left = {name: value for name, value in server.requests[-1].body.items() if name != "stream"}
    assert left == {"model": "m", "messages": MESSAGES, "max_completion_tokens": 4096}


def test_what_was_tried_in_vain_is_not_learned() -> None:
    with serving(lambda connection: always(connection, unsupported("temperature"))) as server:
        with pytest.raises(CallEnded, match="temperature") as raised:
            ask(server)
        assert not hasattr(raised.value, "learned")
    assert len(server.requests) == 2


def test_a_refusal_inside_a_success_teaches_as_well() -> None:
    body = json.dumps({"error": {"message": "temperature is not supported here", "code": "400"}}).encode()

    def serve(connection: Connection) -> None:
        while request := connection.read_request():
            connection.send(http(200, body if "temperature" in request.body else completion()))

    with serving(serve) as server:
        assert features(ask(server).learned) == {"without:temperature": None}


def always(connection: Connection, response: bytes) -> None:
    while connection.read_request():
        connection.send(response)


def test_the_output_limit_is_never_dropped() -> None:
    with serving(refusing("max_tokens", "max_completion_tokens")) as server, pytest.raises(CallEnded):
        ask(server)
    assert len(server.requests) == 2


def test_a_field_of_the_users_own_is_not_dropped_but_named_with_what_to_do() -> None:
    request = ModelRequest("m", MESSAGES, extra_body={"top_k": 5})
    with serving(refusing("top_k")) as server, pytest.raises(CallEnded, match="top_k into the request: take it out"):
        ask(server, request)
    assert len(server.requests) == 1


def refusal(message: str, sent: JsonObject = SENT, users: Sequence[str] = (), **error: Any) -> Refusal:
    body = read_error({"error": {"message": message, **error}})
    return Refusal(sent, users, body, ModelRejected(message, status=400))


@pytest.mark.parametrize(
    ("message", "feature"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "without:temperature"),
        ("temperature may not be set for thinking models", "without:temperature"),
        ("Der Parameter temperature wird nicht unterstützt", "without:temperature"),
        ("Use 'max_completion_tokens' instead of 'max_tokens' with this model.", "renamed:max_tokens"),
        ("property 'stop' is unsupported", "without:stop"),
        ("body.stop: Extra inputs are not permitted", "without:stop"),
        ("stop sequences cannot be used with this model", "without:stop"),
        ("Unrecognized request argument supplied: stop", "without:stop"),
        ("TypeError: create() got an unexpected keyword argument 'stream'", "without:stream"),
        ("System role not supported", "no_system_role"),
        ("only the roles user and assistant are allowed; role 'system' was given", "no_system_role"),
        ("Developer instruction is not enabled for models/x", "no_system_role"),
        ("parameter.enable_thinking must be set to false for non-streaming calls", "with:enable_thinking"),
        ("enable_thinking only support stream call", "with:enable_thinking"),
        ("`store` must be false", "with:store"),
        ("The request could not be processed, please stop sending it", None),
        ("The model `m` is not supported", None),
        ("something about tools", None),
    ],
)  # fmt: skip
def test_what_to_change_is_read_from_the_error(message: str, feature: str | None) -> None:
    change = change_for(refusal(message))
    assert (change and change.feature) == feature


@pytest.mark.parametrize(
    ("message", "feature"),
    [
        ("max_tokens is no longer accepted here; send max_completion_tokens", "renamed:max_tokens"),
        ("max_tokens is no longer a parameter of this API", "renamed:max_tokens"),
        ("Role 'system' is unavailable with this chat template", "no_system_role"),
        ("system messages are unavailable for this model", "no_system_role"),
        ("temperature was retired for reasoning models", "without:temperature"),
        ("this deployment has no notion of stop words; drop 'stop'", "without:stop"),
    ],
)
def test_what_to_change_is_read_whatever_else_the_words_resemble(message: str, feature: str) -> None:
    body = {"error": {"message": message}}
    change = change_for(Refusal(SENT, (), read_error(body), from_status(400, body, {})))
    assert change is not None and change.feature == feature


def test_the_param_of_an_error_counts_before_its_words() -> None:
    change = change_for(refusal("temperature and stop are at odds", param="stop"))
    assert change is not None and change.feature == "without:stop"


@pytest.mark.parametrize(
    "message",
    [
        "messages.2.reasoning_content: Extra inputs are not permitted",
        "property 'reasoning_content' is unsupported",
    ],
)
def test_what_an_earlier_reply_carried_is_not_sent_back_where_it_is_refused(message: str) -> None:
    earlier = {"role": "assistant", "content": "Hm.", "reasoning_content": "I think."}
    sent = {**SENT, "messages": [*MESSAGES, earlier]}
    change = change_for(refusal(message, sent))
    assert change is not None and change.feature == "message_without:reasoning_content"
    assert adapt(sent, [change])["messages"][-1] == {"role": "assistant", "content": "Hm."}
    assert sent["messages"][-1] is earlier and "reasoning_content" in earlier, "the given body is not changed"


@pytest.mark.parametrize(
    "message",
    [
        "contents[2].parts[0].function_response.name: Name cannot be empty.",
        "tool message needs name",
        "messages.3.name: field required",
        "a tool result must have the function's name",
    ],
)
def test_a_tool_result_is_named_where_its_name_is_missed(message: str) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "a", "content": "4"}
    sent = {**SENT, "messages": [*MESSAGES, {"role": "assistant", "content": "x", "tool_calls": [call]}, result]}
    change = change_for(refusal(message, sent))
    assert change is not None and change.feature == "results_named"
    assert adapt(sent, [change])["messages"][-1] == {**result, "name": "f"}


def test_what_a_tool_call_carried_is_left_out_of_the_call_where_it_is_refused() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    earlier = {"role": "assistant", "content": None, "tool_calls": [{**call, "extra_content": {"s": 1}}]}
    sent = {**SENT, "messages": [*MESSAGES, earlier]}
    change = change_for(refusal("messages.2.tool_calls.0.extra_content: Extra inputs are not permitted", sent))
    assert change is not None and change.feature == "message_without:extra_content"
    assert adapt(sent, [change])["messages"][-1] == {**earlier, "tool_calls": [call]}


def test_calls_without_text_are_sent_with_empty_content_else_without_any_and_else_with_a_word() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}
    sent = {**SENT, "messages": [*MESSAGES, call]}
    first = change_for(refusal("Invalid value for 'content': expected a string, got null.", sent))
    assert first is not None and adapt(sent, [first])["messages"][-1]["content"] == ""
    tried = Refusal(sent, (), read_error("content must not be empty"), ModelRejected("x"), [first])
    second = change_for(tried)
    assert second is not None and "content" not in adapt(sent, [second])["messages"][-1]
    third = change_for(Refusal(sent, (), tried.error, tried.ended, [first, second]))
    assert third is not None and adapt(sent, [third])["messages"][-1]["content"].strip()
    assert change_for(Refusal(sent, (), tried.error, tried.ended, [first, second, third])) is None


def test_instructions_go_into_the_first_user_message() -> None:
    changed = adapt(SENT, [Adaptation("no_system_role")])
    assert changed["messages"] == [{"role": "user", "content": "Be exact.\n\nWhat is 2 + 2?"}]
    nobody = {**SENT, "messages": [{"role": "developer", "content": "Be exact."}]}
    assert adapt(nobody, [Adaptation("no_system_role")])["messages"] == [{"role": "user", "content": "Be exact."}]


@pytest.mark.parametrize(
    ("words", "limit", "value", "lasting"),
    [
        ("max_tokens is too large: at most 1500", 1500, 1500, True),
        ("the output limit is too high", None, 2048, True),
        ("max_tokens does not fit the context beside the prompt", 900, 900, False),
    ],
)
def test_an_output_limit_is_lowered_and_remembered_unless_it_depends_on_the_prompt(
    words: str, limit: int | None, value: int, lasting: bool
) -> None:
    change = change_for(Refusal(SENT, (), read_error(words), OutputLimitTooLarge(words, limit=limit)))
    assert change == Adaptation("output_limit", value, words, lasting)
    assert adapt(SENT, [change])["max_tokens"] == value


def test_an_output_limit_is_halved_no_further_than_a_step_needs() -> None:
    tried: list[Adaptation] = []
    body = SENT
    while change := change_for(Refusal(body, (), read_error("too large"), OutputLimitTooLarge("too large"), tried)):
        tried.append(change)
        body = adapt(SENT, tried)
    assert body["max_tokens"] == 64 and len(tried) == 6


@pytest.mark.parametrize("ended", [ContextOverflow("temperature"), CallEnded("temperature")])
def test_only_what_is_wrong_with_the_request_itself_teaches(ended: CallEnded) -> None:
    assert change_for(Refusal(SENT, (), read_error("temperature"), ended)) is None


def test_an_unknown_error_that_names_a_field_teaches_too() -> None:
    ended = UnknownError("temperature", status=500)
    assert change_for(Refusal(SENT, (), read_error("bad temperature"), ended)) is not None


def test_the_users_own_field_is_found_under_its_name() -> None:
    named = refusal("reasoning_effort is not supported", {**SENT, "reasoning_effort": "low"}, ["reasoning_effort"])
    assert users_own(named) == "reasoning_effort"
    assert users_own(refusal("temperature is not supported")) is None


def test_every_kind_of_change_is_told_in_words_and_what_a_newer_version_learned_is_passed_over() -> None:
    for kind in KINDS:
        said = described(Adaptation(f"{kind}:field", 5))
        assert said and "{" not in said
    assert adapt(SENT, [Adaptation("newer:thing", 1)]) == SENT
    assert described(Adaptation("newer:thing")) == "newer:thing"
