"""What an endpoint refuses, in each wording of the practice model: one call finds a way, the next one knows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.practice.quirky import FORMS, KEY, asked
from worker.core.errors import ModelRejected
from worker.core.records import Adaptation
from worker.llm.client import ModelClient, ModelReply
from worker.llm.endpoint import ModelRequest
from worker.llm.watchdog import Abort
from worker.practice import Control, serve
from worker.practice.quirks import QUIRKS

CARRIED = {"reasoning_content": "I think."}
SILENT = {"content": None}
LEARNED: dict[str, dict[str, Any]] = {
    "temperature-refused": {},
    "stop-refused": {},
    "max-tokens-renamed": {},
    "fields-refused": {},
    "fields-forbidden": {},
    "system-refused": {},
    "stream-refused": {},
    "output-capped": {},
    "output-left": {},
    "thinking-refused": {},
    "reasoning-refused": CARRIED,
    "content-null": SILENT,
}
"""The quirk, and what the first reply of the conversation carries."""
CASES = [
    (form, name, sample)
    for form in FORMS
    for name, carried in LEARNED.items()
    for sample in range(1, QUIRKS[name].samples + 1)
    if (form, carried) != ("react_json", SILENT)  # a text dialect has no calls beside its content
]


@pytest.fixture(scope="module")
def server() -> Iterator[Control]:
    with serve() as control:
        yield control


def ask(server: Control, place: str, form: str, known: Sequence[Adaptation] = (), **first: Any) -> ModelReply:
    body = asked(form, 1, **first)
    extra = {"tools": body["tools"]} if "tools" in body else {}
    request = ModelRequest("practice", body["messages"], "", 0.0, ("\nObservation:",), 4000, extra=extra)
    client = ModelClient(f"{server.url}/quirk/{place}/v1", KEY)
    try:
        return client.complete(request, 30, Abort(), known)
    finally:
        client.close()


@pytest.mark.parametrize(("form", "name", "sample"), CASES)
def test_a_refusal_is_got_round_and_not_met_twice(server: Control, form: str, name: str, sample: int) -> None:
    first = ask(server, f"{name}.{sample}", form, **LEARNED[name])
    assert first.learned and all(one.said for one in first.learned)
    second = ask(server, f"{name}.{sample}", form, first.learned, **LEARNED[name])
    assert second.learned == ()


@pytest.mark.parametrize("sample", range(1, QUIRKS["tools-refused"].samples + 1))
def test_a_model_without_tools_is_one_clear_error_that_names_the_setting(server: Control, sample: int) -> None:
    with pytest.raises(ModelRejected, match="dialect"):
        ask(server, f"tools-refused.{sample}", "native")
