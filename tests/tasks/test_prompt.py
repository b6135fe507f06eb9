"""What is sent to a model for a step, and how it is cut to the context that the agent's file gives the model."""

from __future__ import annotations

import pytest

from worker.core.config import RunConfig
from worker.core.moves import Hot
from worker.core.records import Observed, Turn
from worker.store.queries.history import History
from worker.tasks.conversation import Prompt, prompt

LONG = "x" * 40_000
TURNS = tuple(Turn("I read.", (Observed("read_file", {"path": str(n)}, LONG),), "Thought: I read.") for n in range(3))


def asked(window: int | None, folds: int = 0, turns: tuple[Turn, ...] = TURNS) -> Prompt:
    config = RunConfig(model="m", context_window=window, max_output_tokens=1_000)
    return prompt(config, "Answer.", [], History("Which?", turns), Hot("think", len(turns) + 1, folds=folds), "e")


def observed(sent: Prompt) -> list[int]:
    """How much of each observation is left, in thousands of characters, rounded."""
    return [round(str(one["content"]).count("x") / 1000) for one in sent.messages if "xxx" in str(one["content"])]


@pytest.mark.parametrize(
    ("window", "left"),
    [(None, [40, 40, 40]), (33_000, [40, 40, 40]), (31_000, [2, 2, 40]), (11_500, [0, 0, 40]), (5_000, [])],
)
def test_older_observations_are_cut_until_the_prompt_fits_the_known_context(window: int, left: list[int]) -> None:
    sent = asked(window)
    assert [size for size in observed(sent) if size] == [size for size in left if size]
    if window is not None:
        assert sent.about_tokens + 1_000 <= window
    assert "Which?" in str(sent.messages)


def test_what_was_cut_before_is_never_sent_whole_again() -> None:
    assert observed(asked(1_000_000, folds=1)) == [2, 2, 40]


def test_a_first_prompt_that_does_not_fit_is_sent_as_it_is_for_the_endpoint_to_judge() -> None:
    assert asked(256, turns=()).messages == asked(None, turns=()).messages
