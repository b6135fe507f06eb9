"""Counting characters, and the demo tables of weather and sights."""

from __future__ import annotations

import time

import pytest

from tools.base import ToolError
from tools.count_characters import count_characters
from tools.get_attraction import get_attraction


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("我爱编程", "4 characters"),
        ("a", "1 character"),
        ("", "0 characters"),
        ("Hello, world", "12 characters: 10 letters and digits, 1 space, 1 other sign."),
        ("e\u0301", "1 character"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "1 character: 1 other sign."),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "2 characters: 2 other signs."),
        ("\U0001f44d\U0001f3fd", "1 character: 1 other sign."),
        ("\u1112\u1161\u11ab", "1 character"),
        ("a\r\nb", "3 characters: 2 letters and digits, 1 space."),
    ],
)
def test_characters_are_counted_as_people_count_them(text: str, said: str) -> None:
    assert count_characters.call({"text": text}).observation == said


def test_a_letter_with_a_million_accents_is_counted_in_time() -> None:
    started = time.process_time()
    assert count_characters.call({"text": "e" + "\u0301" * 1_000_000}).observation == "1 character"
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("text", "character", "said"),
    [
        ("strawberry", "r", '"r" occurs 3 times in the text.'),
        ("Anna", "a", '"a" occurs 1 time in the text (2 when upper and lower case count as the same).'),
        ("cafe\u0301 e", "e", '"e" occurs 1 time in the text.'),
        ("aaaa", "aa", '"aa" occurs 2 times in the text.'),
    ],
)
def test_occurrences_of_one_character_are_counted(text: str, character: str, said: str) -> None:
    assert count_characters.call({"text": text, "character": character}).observation == said


@pytest.mark.parametrize(
    ("weather", "sight"), [("sunny", "Summer Palace"), ("Heavy Rain", "Palace Museum"), ("小雨", "Palace Museum")]
)
def test_a_sight_suits_the_weather_and_is_marked_as_demo_data(weather: str, sight: str) -> None:
    said = get_attraction.call({"city": "北京市", "weather": weather}).observation
    assert sight in said
    assert "Demo data" in said


def test_a_city_outside_the_demo_table_lists_those_within() -> None:
    with pytest.raises(ToolError, match="It holds Beijing, Shanghai"):
        get_attraction.call({"city": "Atlantis", "weather": "sunny"})
