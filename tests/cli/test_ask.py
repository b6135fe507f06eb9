"""`stepmill ask`: how it reacts to a run's events."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from worker.cli.ask import follow
from worker.cli.client import Client
from worker.core.errors import UserError

KEY_REFUSED = "The model endpoint answered 401: Incorrect API key provided."


class Api:
    """Sends these events of a run, and remembers what was posted."""

    def __init__(self, *events: tuple[str, Any]) -> None:
        self.posted: list[str] = []
        self._text = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            self.posted.append(request.url.path)
            return httpx2.Response(200, json={"changed": True})
        if request.url.path.endswith("/events"):
            return httpx2.Response(200, text=self._text)
        return httpx2.Response(200, json={"status": "active"})

    def client(self) -> Client:
        return Client("http://127.0.0.1:1", transport=httpx2.MockTransport(self))


def test_a_run_that_only_a_person_can_help_on_is_told_and_cancelled_at_once() -> None:
    api = Api(("status", {"state": "active", "phase": "think", "waiting": KEY_REFUSED, "needs_operator": True}))
    with api.client() as client, pytest.raises(UserError) as caught:
        follow(client, "run_1", quiet=True, give_up_on_operator_errors=True)
    assert (caught.value.message, caught.value.exit_code) == (KEY_REFUSED, 1)
    assert "stepmill doctor" in caught.value.hint
    assert api.posted == ["/api/runs/run_1/cancel"]


def test_who_only_follows_a_run_does_not_cancel_it() -> None:
    ended = {"status": "succeeded", "run_id": "run_1"}
    api = Api(("status", {"waiting": KEY_REFUSED, "needs_operator": True}), ("end", ended))
    with api.client() as client:
        assert follow(client, "run_1", quiet=True) == ended
    assert api.posted == []


def test_events_that_stop_before_the_end_are_told_with_how_to_go_on() -> None:
    with Api(("status", {"waiting": None})).client() as client, pytest.raises(UserError) as caught:
        follow(client, "run_1", quiet=True)
    assert caught.value.exit_code == 3
    assert "stepmill run follow run_1" in caught.value.hint
