"""How a reply ended, as endpoints spell it."""

from __future__ import annotations

import pytest

from worker.core.finish_reasons import Ending, ending_of

SPELLINGS: dict[Ending, list[object]] = {
    Ending.WHOLE: [
        "eos_token_id",
        "</s>",
        *(
            None,
            "",
            "stop",
            "STOP",
            "eos",
            "eos_token",
            "end_turn",
            "stop_sequence",
            "COMPLETE",
            "EndTurn",
            "<|im_end|>",
        ),
        *("FinishReason.STOP", "FINISH_REASON_STOP", "null", "completed", "stop_str", "end_of_turn", " ", 1),
        *({"type": "stop"}, "STOP_SEQUENCE", "end", "normal", "stop_token"),
    ],
    Ending.CALLS: ["tool_calls", "function_call", "tool_use", "TOOL_CALL", "tool-calls", "toolCalls"],
    Ending.LENGTH: [
        *("length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "max_output_tokens", "model_length"),
        *("token_limit", "ERROR_LIMIT", "FinishReason.MAX_TOKENS", "max_new_tokens_reached", "context_length", 2),
    ],
    Ending.FILTERED: [
        *(
            "content_filter",
            "sensitive",
            "SAFETY",
            "RECITATION",
            "PROHIBITED_CONTENT",
            "content_filtered",
            "ERROR_TOXIC",
        ),
        *("guardrail_intervened", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "refusal", "content-filter-error", 3),
    ],
    Ending.BAD_CALL: [
        *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "invalid_tool_call", "tool_use_failed"),
        *("function_call_filter: MALFORMED_FUNCTION_CALL", 9, "malformedFunctionCall"),
    ],
    Ending.BROKEN_OFF: [
        *("error", "abort", "network_error", "insufficient_system_resource", "OTHER", "banana", "tool_error", "ERROR"),
        *(
            "USER_CANCEL",
            "timeout",
            "unexpected_eof",
            "FINISH_REASON_UNSPECIFIED",
            "incomplete",
            "LANGUAGE",
            "NO_IMAGE",
        ),
        *(99, -1, True, 1.5, [], {}, {"type": 7}, "pause_turn", "stream_error", "upstream_disconnected", 0),
        *("guardrail_timeout", "moderation_unavailable", "SafetyServerOverloaded"),
        "TOO_MANY_TOOL_CALLS",
    ],
}


@pytest.mark.parametrize(("ending", "spelled"), [(e, s) for e, spellings in SPELLINGS.items() for s in spellings])
def test_a_finish_reason_is_known_in_its_spellings(ending: Ending, spelled: object) -> None:
    assert ending_of(spelled) is ending
