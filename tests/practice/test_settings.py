"""The small parts: latencies, faults, windows, token counts, languages."""

from __future__ import annotations

import random

import pytest

from worker.practice.config import Config
from worker.practice.faults import FaultPlan, fault_from
from worker.practice.latency import latency
from worker.practice.limits import Gate, PracticeLimits
from worker.practice.phrases import dated, language_of
from worker.practice.places import places_in
from worker.practice.tokens import PromptCounter, tokens_of


@pytest.mark.parametrize(
    ("spec", "low", "high"),
    [("0", 0, 0), ("1.5", 1.5, 1.5), ("uniform:0.5,2", 0.5, 2), ("lognormal:1.0,0.1", 0.5, 2), ("exponential:0", 0, 0)],
)
def test_latencies_are_drawn_within_their_form(spec: str, low: float, high: float) -> None:
    source = random.Random(1)
    draw = latency(spec)
    assert all(low <= draw(source) <= high for _ in range(200))


def test_the_same_seed_draws_the_same_latencies() -> None:
    draw = latency("lognormal:1.0,0.5")
    first, second = random.Random(3), random.Random(3)
    assert [draw(first) for _ in range(5)] == [draw(second) for _ in range(5)]


@pytest.mark.parametrize("spec", ["", "fast", "uniform:1", "normal:1,2", "-1", "nan", "inf", "lognormal:0,1"])
def test_a_latency_that_makes_no_sense_is_refused_with_what_does(spec: str) -> None:
    with pytest.raises(ValueError, match="lognormal:MEDIAN,SIGMA"):
        latency(spec)


def test_a_fault_is_read_from_text() -> None:
    fault = fault_from("429:0.1,retry_after=2,times=3,retry_after_ms=50")
    assert (fault.kind, fault.rate, fault.times) == ("rate_limit", 0.1, 3)
    assert fault.headers() == {"retry-after": "2", "retry-after-ms": "50"}


@pytest.mark.parametrize("spec", ["", "gremlins", "429:x", "429:1.5", "429,colour=red", "429:0.1,times=x"])
def test_a_fault_that_makes_no_sense_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match=r"fault"):
        fault_from(spec)


def test_the_script_goes_first_and_then_the_faults_by_rate() -> None:
    plan = FaultPlan([fault_from("500")], ["ok", "429"], seed=0)
    struck = [plan.next("m", "") for _ in range(3)]
    assert [fault.kind if fault else None for fault in struck] == [None, "rate_limit", "server_error"]


def test_a_window_slides_and_remembers_its_fullest() -> None:
    gate = Gate(PracticeLimits(rpm=2, window_s=10))
    assert [gate.enter(at, 1) for at in (0.0, 4.0)] == [None, None]
    assert gate.enter(5.0, 1) == pytest.approx(5.0)
    assert gate.enter(10.5, 1) is None
    assert (gate.admitted.most, gate.refused) == (2, 1)


def test_tokens_a_minute_are_limited_too() -> None:
    gate = Gate(PracticeLimits(tpm=100, window_s=10))
    assert gate.enter(0.0, 80) is None
    assert gate.enter(1.0, 30) == pytest.approx(9.0)
    assert gate.enter(1.0, 20) is None


def test_tokens_are_a_quarter_of_the_bytes() -> None:
    assert [tokens_of(text) for text in ("", "a", "abcd", "abcde", "我爱编程")] == [0, 1, 1, 2, 3]


def test_only_whole_messages_seen_before_count_as_cached() -> None:
    counter = PromptCounter()
    system, question = {"role": "system", "content": "x" * 40}, {"role": "user", "content": "y" * 40}
    assert counter.count("m", [system, question], None) == (20, 0)
    assert counter.count("m", [system, {"role": "user", "content": "z" * 40}], None) == (20, 10)
    assert counter.count("m", [system, question], None) == (20, 20)
    assert counter.count("other", [system, question], None) == (20, 0)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What time is it?", "en"),
        ("How many characters are in 我爱编程?", "zh"),
        ('How many characters are in "我爱编程"?', "en"),
        ("今は何時ですか", "ja"),
        ("¿Qué hora es?", "es"),
        ("Wie spät ist es?", "de"),
        ("Quelle heure est-il ?", "fr"),
        ("Che ora è?", "it"),
        ("Que horas são?", "pt"),
        ("Который час?", "ru"),
        ("지금 몇 시입니까?", "ko"),
        ("3 + 4", "en"),
    ],
)
def test_the_language_of_a_question_is_told(text: str, language: str) -> None:
    assert language_of(text) == language


def test_weekdays_are_named_in_the_language() -> None:
    assert dated("fr", "Monday, 2026-11-30 01:00:00 (UTC)") == "lundi, 2026-11-30 01:00:00 (UTC)"


def test_places_come_in_the_order_of_the_text_and_once_each() -> None:
    found = places_in("From New York to 北京, then Beijing and Europe/Oslo")
    assert [place.zone for place in found] == ["America/New_York", "Asia/Shanghai", "Europe/Oslo"]


def test_settings_survive_being_written_as_json() -> None:
    config = Config().changed({"faults": ["429:0.5"], "limits": {"rpm": 3}, "untidy": "all", "latency": 2})
    assert Config().changed(config.as_json()) == config


def test_limits_with_an_unknown_name_are_refused() -> None:
    with pytest.raises(ValueError, match="rpm, tpm, concurrency"):
        Config().changed({"limits": {"rps": 3}})
