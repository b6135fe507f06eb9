"""Server-sent events, line by line."""

from __future__ import annotations

from worker.cli.events import IDLE, Event, lines, read_events


def test_an_event_has_its_kind_number_and_data() -> None:
    lines = ["event: step", "id: 7", 'data: {"step": 1}', ""]
    assert list(read_events(lines)) == [Event("step", {"step": 1}, "7")]


def test_data_over_several_lines_is_one_document() -> None:
    assert list(read_events(["event: end", 'data: {"a":', "data: 1}", ""])) == [Event("end", {"a": 1})]


def test_a_comment_is_a_sign_of_life_and_an_unfinished_event_is_passed_over() -> None:
    lines = [": idle", "", "event: status", "data: {}", "", "event: step", 'data: {"cut": true}']
    assert list(read_events(lines)) == [IDLE, Event("status", {})]


def test_the_fields_of_one_event_do_not_leak_into_the_next() -> None:
    lines = ["event: step", "id: 1", "data: {}", "", "data: {}", ""]
    assert list(read_events(lines)) == [Event("step", {}, "1"), Event("message", {})]


def test_only_a_line_feed_ends_a_line_wherever_the_chunks_are_cut() -> None:
    text = 'data: {"a": "\u2028 \x85 é"}\r\n\n'
    data = text.encode()
    for cut in range(len(data)):
        events = list(read_events(lines([data[:cut], data[cut:]])))
        assert [event.data for event in events] == [{"a": "\u2028 \x85 é"}]
