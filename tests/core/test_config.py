"""A configuration survives the database unchanged, even if another version wrote it."""

from __future__ import annotations

import orjson
import pytest
from pydantic import ValidationError

from worker.core.config import Agent, EndpointLimits, ExampleCall, FewShot, RunConfig

EVERYTHING = RunConfig(
    name="mine", model="m", base_url="http://host/v1", temperature=None, max_output_tokens=7, context_window=4096,
    extra_body={"top_k": 1}, limits=EndpointLimits(concurrent=2), dialect="native", tools=("calculator",),
    examples=(FewShot(question="q", calls=(ExampleCall(tool="t", args={"a": 1}, observation="o"),), answer="a"),),
    approve=("calculator",), plain_answers=True, time_limit_s=9.5, simulated=True,
)  # fmt: skip


@pytest.mark.parametrize("config", [RunConfig(), EVERYTHING], ids=["defaults", "everything"])
def test_what_is_stored_comes_back_the_same(config: RunConfig) -> None:
    back = RunConfig.stored(orjson.loads(orjson.dumps(config.body())))
    assert back == config
    assert back.body() == config.body()


def test_names_and_numbers_of_other_versions_are_taken_and_what_is_missing_has_its_default() -> None:
    config = RunConfig.stored({"model": "m", "max_steps": 5_000, "time_limit_s": 1e12, "of_a_later_version": 1})
    assert (config.model, config.max_steps, config.time_limit_s) == ("m", 5_000, 1e12)
    assert config.max_model_failures == Agent().max_model_failures
    assert "of_a_later_version" not in config.body()


def test_a_file_may_not_hold_what_is_no_number_of_steps() -> None:
    with pytest.raises(ValidationError):
        Agent(max_steps=5_000)


def test_an_example_is_one_of_a_dialect() -> None:
    example = EVERYTHING.examples[0].example()
    assert (example.question, example.answer) == ("q", "a")
    assert [(turn.calls[0].tool, turn.calls[0].observation) for turn in example.turns] == [("t", "o")]
