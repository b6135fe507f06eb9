"""Keys and passwords reach the endpoint and nothing else: no error, no repr, no traceback, no log."""

from __future__ import annotations

import json
import logging
import socket
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.servers import answering, completion, http, serving
from tools.environment import variable
from worker.core.errors import Unreachable, WrongKey
from worker.llm.client import ModelClient, ModelClients
from worker.llm.endpoint import EndpointSettings, ModelRequest
from worker.llm.watchdog import Abort

SECRET = "sk-proj-very-secret-0123456789"
MESSAGES = [{"role": "user", "content": "hi"}]
GOOD = http(200, completion())


def test_a_password_in_the_address_is_not_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = ModelClient(f"http://user:pass@127.0.0.1:{port}/v1")
    with pytest.raises(Unreachable, match=f"http://127.0.0.1:{port}/v1") as caught:
        client.complete(ModelRequest("m", MESSAGES), 5, Abort())
    assert "pass" not in caught.value.message + repr(client)
    client.close()


def test_a_key_with_characters_of_another_alphabet_is_the_operators_to_mend() -> None:
    with serving(answering(GOOD)) as server, pytest.raises(WrongKey, match="characters"):
        ModelClient(server.base_url, "sk-ключ").complete(ModelRequest("m", MESSAGES), 5, Abort())


def test_the_key_is_in_no_error_no_repr_no_traceback_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body = json.dumps(
        {"error": {"message": f"Incorrect API key provided: {SECRET}. Masked: sk-proj*****6789."}}
    ).encode()
    with serving(answering(http(401, body))) as server:
        client = ModelClient(server.base_url, SECRET)
        with pytest.raises(WrongKey) as caught:
            client.complete(ModelRequest("m", MESSAGES), 5, Abort())
        client.close()
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(client) + caplog.text
    assert "Incorrect API key provided: [key]" in caught.value.message
    assert SECRET not in told
    assert "6789" not in told
    assert caught.value.__context__ is None, "a chained error would hold the request with its key"


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, ModelClients]]:
    monkeypatch.chdir(tmp_path)
    clients = ModelClients(variable)
    yield tmp_path / ".env", clients
    clients.close()


def test_a_new_key_counts_without_a_restart_and_without_a_new_connection(keys: tuple[Path, ModelClients]) -> None:
    env_file, clients = keys
    with serving(answering(GOOD)) as server:
        endpoint = EndpointSettings("m", base_url=server.base_url, api_key_env="MY_KEY")
        for key in ("first", "second-key"):
            env_file.write_text(f"MY_KEY={key}\n")
            clients.client(endpoint).complete(endpoint.request(MESSAGES), 5, Abort())
        clients.close()
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer first", "Bearer second-key"]
    assert server.connections == 1
