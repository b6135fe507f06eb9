"""How a reply ended, as endpoints spell it."""

from __future__ import annotations

import pytest

from worker.core.endings import Ending, ending_of

SPELLINGS: dict[Ending, list[str | None]] = {
    Ending.WHOLE: [None, "", "stop", "STOP", "eos", "eos_token", "end_turn", "stop_sequence", "COMPLETE", "EndTurn"],
    Ending.CALLS: ["tool_calls", "function_call", "tool_use", "TOOL_CALL"],
    Ending.LENGTH: ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "max_output_tokens"],
    Ending.FILTERED: ["content_filter", "sensitive", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "content_filtered"],
    Ending.BAD_CALL: ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "invalid_tool_call"],
    Ending.BROKEN_OFF: [
        "error",
        "abort",
        "network_error",
        "insufficient_system_resource",
        "OTHER",
        "banana",
        "tool_error",
    ],
}


@pytest.mark.parametrize(("ending", "spelled"), [(e, s) for e, spellings in SPELLINGS.items() for s in spellings])
def test_a_finish_reason_is_known_in_its_spellings(ending: Ending, spelled: str | None) -> None:
    assert ending_of(spelled) is ending
