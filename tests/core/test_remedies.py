"""Each pause of an endpoint says in one sentence what a person must do."""

from __future__ import annotations

import pytest

from worker.core import errors
from worker.core.errors import CallEnded
from worker.core.remedies import PauseKind, pause_kind, remedy

WHERE = ("gpt-x", "https://models.test/v1", "MY_KEY")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.WrongKey("x"), PauseKind.KEY),
        (errors.AccessDenied("x"), PauseKind.ACCESS),
        (errors.UnknownModel("x"), PauseKind.MODEL),
        (errors.QuotaExhausted("x"), PauseKind.QUOTA),
        (errors.RateLimited("x"), PauseKind.FAILING),
        (errors.EndpointBusy("x"), PauseKind.FAILING),
        (errors.Unreachable("x"), PauseKind.UNREACHABLE),
        (errors.UnknownError("x"), PauseKind.UNKNOWN),
        (errors.EndpointFailed("x"), PauseKind.FAILING),
        (errors.BadReply("x"), PauseKind.FAILING),
        (errors.BrokenOff("x"), PauseKind.FAILING),
        (errors.ModelTimeout("x"), PauseKind.FAILING),
    ],
)
def test_an_error_is_of_one_kind(error: CallEnded, kind: PauseKind) -> None:
    assert pause_kind(error) is kind


@pytest.mark.parametrize("error", [errors.RateLimited("x"), errors.EndpointBusy("x")])
def test_a_limit_with_a_time_opens_by_itself(error: CallEnded) -> None:
    assert pause_kind(error, for_s=3.0) is PauseKind.LIMITED


def test_every_kind_has_its_own_sentence() -> None:
    told = {kind: remedy(kind, *WHERE) for kind in PauseKind}
    assert len(set(told.values())) == len(PauseKind)
    assert all(words.endswith(".") and words[:1] in "`ABCDEFGHIJKLMNOPQRSTUVWXYZ" for words in told.values())


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (PauseKind.KEY, "MY_KEY"),
        (PauseKind.QUOTA, "credit"),
        (PauseKind.MODEL, "gpt-x"),
        (PauseKind.MODEL, "https://models.test/v1"),
        (PauseKind.BY_HAND, "stepmill models resume gpt-x"),
        (PauseKind.UNREACHABLE, "https://models.test/v1"),
        (None, "Read the error"),
        ("of a later version", "Read the error"),
    ],
)
def test_a_sentence_names_what_is_to_be_changed(kind: str | None, named: str) -> None:
    assert named in remedy(kind, *WHERE)


def test_without_a_variable_the_usual_one_is_named() -> None:
    assert "OPENAI_API_KEY" in remedy(PauseKind.KEY, "gpt-x", "https://models.test/v1", None)
