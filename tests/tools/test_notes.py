"""A run's scratchpad, and pads that the runs of a batch share."""

from __future__ import annotations

import pytest

from tools.base import BadArguments, MemoryNotes, ToolContext, ToolError
from tools.kit.pads import MAX_PAD_CHARS
from tools.note import note
from tools.recall import recall


def test_notes_come_back_in_the_order_written() -> None:
    context = ToolContext(run_id="r")
    assert recall.call({}, context).observation == "There is nothing yet in the scratchpad of this run."
    assert note.call("one", context).observation == "Noted in the scratchpad of this run."
    note.call({"text": "two", "name": None}, context)
    assert recall.call("", context).observation == "one\ntwo"


def test_a_named_pad_is_the_batchs_and_a_run_alone_keeps_it_to_itself() -> None:
    notes = MemoryNotes()
    note.call({"text": "seen", "name": " Prices "}, ToolContext(run_id="a", batch_id="b", notes=notes))
    assert notes.get("batch", "pad:prices") == "seen"
    assert recall.call({"name": "prices"}, ToolContext(run_id="c", batch_id="b", notes=notes)).observation == "seen"
    note.call({"text": "own", "name": "prices"}, ToolContext(run_id="a", notes=notes))
    assert notes.get("run", "pad:prices") == "own"


def test_a_full_pad_and_an_empty_note_are_refused() -> None:
    context = ToolContext()
    context.notes.set("run", "scratchpad", "x" * MAX_PAD_CHARS)
    with pytest.raises(ToolError, match="no room left"):
        note.call("more", context)
    with pytest.raises(BadArguments, match="at least 1 character"):
        note.call({"text": ""}, context)


def test_a_note_is_never_written_twice_by_a_second_attempt() -> None:
    assert not note.idempotent
    assert recall.idempotent
