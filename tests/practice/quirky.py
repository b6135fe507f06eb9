"""An endpoint with quirks, and requests to it as a caller sends them that gives back calls and observations alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

from tests.practice.conversations import opening
from worker.practice import Control

KEY = "sk-practice-0123456789"
FORMS = ("native", "react_json")
QUESTION = "Use calculator(expression='6 * 7') then count_characters(text='strawberry', character='r')."
CALLS = (("calculator", '{"expression": "6 * 7"}'), ("count_characters", '{"text": "strawberry", "character": "r"}'))
SEEN = ("6 * 7 = 42", '"r" occurs 3 times in the text.')
Body = dict[str, Any]


class Endpoint:
    """The practice model under a quirk; `client` asks no proxy."""

    def __init__(self, server: Control, client: httpx2.Client) -> None:
        self.server, self._client = server, client

    def post(self, quirk: str, body: Mapping[str, Any], query: str = "") -> httpx2.Response:
        url = f"{self.server.url}/quirk/{quirk}/v1/chat/completions{query}"
        return self._client.post(url, json=dict(body), headers={"authorization": f"Bearer {KEY}"})

    def body(self, quirk: str, body: Mapping[str, Any]) -> Body:
        """The completion of a request that is taken."""
        response = self.post(quirk, body)
        assert response.status_code == 200, response.text
        found: Body = response.json()
        return found

    def choice(self, quirk: str, body: Mapping[str, Any]) -> Body:
        choice: Body = self.body(quirk, body)["choices"][0]
        return choice

    def takes(self, quirk: str, body: Mapping[str, Any]) -> bool:
        """Whether the request is taken; anything else must be a refusal with a reason."""
        response = self.post(quirk, body)
        assert response.status_code in (200, 400, 422) and response.text
        return response.status_code == 200


def asked(form: str, steps: int = 0, *, call: Mapping[str, Any] | None = None, **fields: Any) -> Body:
    """A request after so many steps; `call` changes the first call, `fields` the first assistant message."""
    body = opening(QUESTION, form)
    for step in range(steps):
        name, args = CALLS[step]
        if form == "native":
            made = {"id": f"abcdefgh{step}", "type": "function", "function": {"name": name, "arguments": args}}
            made |= (call or {}) if step == 0 else {}
            body["messages"].append({"role": "assistant", "content": "So.", "tool_calls": [made]})
            body["messages"].append({"role": "tool", "tool_call_id": made["id"], "content": SEEN[step]})
        else:
            body["messages"].append({"role": "assistant", "content": f"Action: {name}\nAction Input: {args}"})
            body["messages"].append({"role": "user", "content": f"Observation: {SEEN[step]}"})
    if steps:
        body["messages"][2] |= fields
    return body


def corrected(form: str) -> Body:
    """The request that follows a reply which could not be read."""
    body = asked(form)
    body["messages"].append({"role": "assistant", "content": "Hm."})
    body["messages"].append({"role": "user", "content": "Your reply could not be read."})
    return body
