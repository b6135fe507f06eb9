"""The practice model as real endpoints that demand something back or are strict, in a native and a text dialect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.fleet import Fleet
from tests.engine.questions import long_ones
from tests.engine.wholeness import assert_whole

pytestmark = pytest.mark.timeout(300)

GIVEN_BACK = ["signature", "reasoning-returned", "reasoning-details-returned", "state-returned", "ids-of-nine",
              "ids-missing", "ids-repeated", "order", "alternation", "reasoning-refused"]  # fmt: skip
LIMITED = {"thinking-long": "succeeded", "thinking-endless": "failed"}


def submit(fleet: Fleet, quirk: str, dialect: str, steps: int, max_steps: int) -> str:
    address = fleet.practice.base_url.replace("/v1", f"/quirk/{quirk}/v1")
    settings: dict[str, Any] = {"base_url": address, "model": "practice", "api_key_env": "NO_KEY", "tools": ["look_up"]}
    return fleet.submit(long_ones(2, steps), dialect=dialect, max_steps=max_steps, **settings)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("dialect", ["native", "react_json"])
def test_endpoints_that_want_something_back_or_in_order_get_it_up_to_the_last_step(fleet: Fleet, dialect: str) -> None:
    fleet.start(slots=4)
    batches = {quirk: submit(fleet, quirk, dialect, 4, 4) for quirk in GIVEN_BACK}
    ended = {quirk: fleet.finish(batch) for quirk, batch in batches.items()}
    assert ended == {quirk: {"succeeded": 2} for quirk in GIVEN_BACK}
    assert {run.steps for batch in batches.values() for run in fleet.runs(batch)} == {4}, "nothing was asked twice"
    assert_whole(fleet, *batches.values())


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("dialect", ["native", "react_json"])
def test_thinking_may_use_twice_the_limit_and_no_more(fleet: Fleet, dialect: str) -> None:
    fleet.start(slots=4)
    batches = {quirk: submit(fleet, quirk, dialect, 2, 4) for quirk in LIMITED}
    ended = {quirk: fleet.finish(batch) for quirk, batch in batches.items()}
    assert ended == {quirk: {state: 2} for quirk, state in LIMITED.items()}
    for run in fleet.runs(batches["thinking-endless"]):
        assert (run.error_code, run.attempts) == ("output_limit", 2)
        assert "8192 output tokens of a reply (max_output_tokens, raised from 4096)" in run.error_message
