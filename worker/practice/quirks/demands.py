"""What endpoints refuse in a request: fields, roles, tools, a limit that is too high, an address without query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from worker.practice.quirks.base import Asked, Quirk, Wire, bad_request, refusal

FIELD_REFUSED = (
    "Unsupported parameter: '{field}' is not supported with this model.",
    "{field}: Extra inputs are not permitted",
    "Unrecognized request argument supplied: {field}",
    "Argument not supported on this model: {field}",
    "property '{field}' is unsupported",
    "`{field}` is deprecated for this model.",
    'Unknown name "{field}": Cannot find field.',
)
TEMPERATURE_REFUSED = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    "invalid temperature: only 1 is allowed for this model",
    "temperature must be 1 when thinking is enabled",
    "The value of temperature is fixed for this model and cannot be set",
)
RENAMED = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "max_tokens is not supported by this model, please use max_completion_tokens",
)
OLD_NAME = (
    "max_completion_tokens: Extra inputs are not permitted",
    "Unrecognized request argument supplied: max_completion_tokens",
)
SYSTEM_REFUSED = (
    "System role not supported",
    "Developer instruction is not enabled for models/example-it",
    "This model does not support the system role. Put instructions into the user message.",
    "messages[0].role: must be one of user, assistant; got 'system'",
    "Conversation must start with a user message; system messages are not supported by this model's template",
)
THINKING_REFUSED = (
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "enable_thinking only support stream call",
    "parameter.enable_thinking only support stream call",
)
NO_TOOLS = (
    "This model does not support tools.",
    "registry.example/library/small:latest does not support tools",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "`tool calling` is not supported with this model",
    "No endpoints found that support tool use.",
    "Function calling is not enabled for models/example-it",
    "tools param requires --jinja flag",
)
CAPS = (
    "max_tokens is too large: {limit}. This model supports at most {most} completion tokens.",
    "Invalid max_tokens value, the valid range of max_tokens is [1, {most}]",
    "Range of max_tokens should be [1, {most}]",
    "max_tokens: {limit} > {most}, which is the maximum allowed number of output tokens for this model",
    "`max_tokens` must be less than or equal to `{most}`, the maximum value for this model",
    "The requested number of output tokens exceeds what this model can generate; lower max_tokens",
)
LEFTOVERS = (
    "'max_tokens' is too large: {limit}. This model's maximum context length is {window} tokens and your request has "
    "{prompt} input tokens ({limit} > {window} - {prompt}).",
    "This model's maximum context length is {window} tokens. However, you requested {total} tokens ({prompt} in the "
    "messages, {limit} in the completion). Please reduce the length of the messages or completion.",
    "input length and `max_tokens` exceed context limit: {prompt} + {limit} > {window}, decrease input length or "
    "`max_tokens` and try again",
    "`inputs` tokens + `max_new_tokens` must be <= {window}. Given: {prompt} `inputs` tokens and {limit} "
    "`max_new_tokens`",
)  # fmt: skip
_CAP = 1500


def _refuses(field: str, wordings: Sequence[str]) -> Callable[[Asked], Wire | None]:
    def refuse(asked: Asked) -> Wire | None:
        if field not in asked.body:
            return None
        return bad_request(asked.pick(wordings).replace("{field}", field), status=asked.pick((400, 422, 400)))

    return refuse


def _refuses_system(asked: Asked) -> Wire | None:
    if any(message.get("role") in ("system", "developer") for message in asked.messages):
        return bad_request(asked.pick(SYSTEM_REFUSED))
    return None


def _wants_no_thinking(asked: Asked) -> Wire | None:
    """Like Qwen's open models: thinking is on unless switched off, and works only in streams."""
    if asked.body.get("stream") or asked.body.get("enable_thinking") is False:
        return None
    return bad_request(asked.pick(THINKING_REFUSED), code="invalid_parameter_error")


def _unheard_of(asked: Asked) -> Wire | None:
    """Accepts only the fields of the chat API's first version."""
    known = ("model", "messages", "max_tokens", "tools", "stream")
    extra = next((name for name in asked.body if name not in known), None)
    return None if extra is None else bad_request(asked.pick(FIELD_REFUSED).replace("{field}", extra))


def _fastapi(asked: Asked) -> Wire | None:
    """Like `_unheard_of`, worded by a server that validates with pydantic."""
    known = ("model", "messages", "max_tokens", "tools")
    extra = next((name for name in asked.body if name not in known), None)
    if extra is None:
        return None
    detail = [{"type": "extra_forbidden", "loc": ["body", extra], "msg": "Extra inputs are not permitted"}]
    return refusal(422, {"detail": detail})


def _caps_output(asked: Asked) -> Wire | None:
    if asked.output_limit <= _CAP:
        return None
    said = asked.pick(CAPS).replace("{limit}", str(asked.output_limit)).replace("{most}", str(_CAP))
    return bad_request(said)


def _caps_total(asked: Asked) -> Wire | None:
    """Has a window large enough for the prompt, but not for the requested output too."""
    numbers = {"limit": asked.output_limit, "prompt": asked.prompt_tokens, "window": asked.prompt_tokens + _CAP}
    numbers["total"] = numbers["limit"] + numbers["prompt"]
    if numbers["total"] <= numbers["window"]:
        return None
    said = asked.pick(LEFTOVERS)
    for name, number in numbers.items():
        said = said.replace("{" + name + "}", str(number))
    return bad_request(said, status=asked.pick((400, 422, 400, 400)))


def _wants_query(asked: Asked) -> Wire | None:
    if asked.request.query.get("api-version") == "2024-10-21":
        return None
    return refusal(404, {"error": {"code": "404", "message": "Resource not found"}})


_SETTING = "error:model_rejected|paused"
QUIRKS = (
    Quirk(
        "temperature-refused", "takes no temperature", samples=4, refuse=_refuses("temperature", TEMPERATURE_REFUSED)
    ),
    Quirk("stop-refused", "takes no stop sequences", samples=7, refuse=_refuses("stop", FIELD_REFUSED)),
    Quirk("stream-refused", "does not know the field stream", samples=7, refuse=_refuses("stream", FIELD_REFUSED)),
    Quirk("max-tokens-renamed", "takes max_completion_tokens only", samples=2, refuse=_refuses("max_tokens", RENAMED)),
    Quirk(
        "max-tokens-old", "takes max_tokens only", samples=2, refuse=_refuses("max_completion_tokens", OLD_NAME)
    ),
    Quirk("fields-refused", "takes only the chat API's original fields", samples=7, refuse=_unheard_of),
    Quirk("fields-forbidden", "checks requests strictly and answers 422 with details", refuse=_fastapi),
    Quirk("system-refused", "has no system role", samples=5, refuse=_refuses_system),
    Quirk(
        "thinking-refused", "wants enable_thinking false unless it streams", f"answered|{_SETTING}", samples=3,
        refuse=_wants_no_thinking,
    ),
    Quirk(
        "tools-refused", "has no tool calls", "answered", native_end=_SETTING, samples=7,
        refuse=_refuses("tools", NO_TOOLS),
    ),
    Quirk("output-capped", "writes at most 1500 tokens and refuses a higher limit", samples=6, refuse=_caps_output),
    Quirk(
        "output-left", "refuses an output limit that does not fit beside the prompt", samples=4, refuse=_caps_total
    ),
    Quirk("query", "wants its version in the address", query="api-version=2024-10-21", refuse=_wants_query),
)  # fmt: skip
