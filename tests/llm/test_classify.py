"""Whose fault a failed call is, by the bodies that endpoints really send. One row, one shape."""

from __future__ import annotations

from typing import Any

import pytest

from worker.core.errors import (
    AccessDenied,
    CallEnded,
    ContentFilter,
    ContextOverflow,
    Culprit,
    EndpointBusy,
    EndpointFailed,
    ModelRejected,
    QuotaExhausted,
    RateLimited,
    ToolsUnsupported,
    UnknownModel,
    WrongKey,
)
from worker.core.records import Usage
from worker.llm.classify import from_status


def said(message: str, **fields: Any) -> dict[str, Any]:
    """OpenAI's shape."""
    return {"error": {"message": message, **fields}}


def vllm(message: str, code: int, kind: str = "BadRequestError") -> dict[str, Any]:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


OPENAI = [
    (429, said("Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000",
               type="tokens", code="rate_limit_exceeded"), RateLimited),
    (429, said("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 54000.",
               type="tokens", code="rate_limit_exceeded"), ContextOverflow),
    (429, said("You exceeded your current quota, please check your plan and billing details.",
               type="insufficient_quota", code="insufficient_quota"), QuotaExhausted),
    (401, said("Incorrect API key provided: sk-abc*****wxyz.", code="invalid_api_key"), WrongKey),
    (403, said("Country, region, or territory not supported", code="unsupported_country"), AccessDenied),
    (404, said("The model `gpt-9` does not exist or you have no access to it.", code="model_not_found"), UnknownModel),
    (400, said("This model's maximum context length is 128000 tokens. Your messages resulted in 130000.",
               code="context_length_exceeded", param="messages"), ContextOverflow),
    (400, said("Invalid 'messages[0].role': 'robot'", code="invalid_value", param="messages[0].role"), ModelRejected),
    (400, said("Your prompt was flagged as potentially violating our policy.", code="invalid_prompt"), ContentFilter),
    (500, said("The server had an error while processing your request.", type="server_error"), EndpointFailed),
    (503, said("The engine is currently overloaded, please try again later"), EndpointBusy),
    (409, said("conflict"), EndpointFailed),
    (408, said("timeout"), EndpointFailed),
]  # fmt: skip
AZURE = [
    (400, said("The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
               code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}), ContentFilter),
    (401, said("Access denied due to invalid subscription key or wrong API endpoint.", code="401"), WrongKey),
    (404, said("The API deployment for this resource does not exist.", code="DeploymentNotFound"), UnknownModel),
    (404, said("Resource not found", code="404"), UnknownModel),
    (429, said("Requests to the ChatCompletions_Create Operation have exceeded token rate limit. Retry after 20 s.",
               code="429"), RateLimited),
]  # fmt: skip
VLLM = [
    (400, vllm("This model's maximum context length is 4096 tokens. You requested 5000", 400), ContextOverflow),
    (400, vllm("The prompt (length 9000) is longer than the maximum model length of 4096.", 400), ContextOverflow),
    (400, vllm('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', 400),
     ToolsUnsupported),
    (404, vllm("The model `x` does not exist.", 404, "NotFoundError"), UnknownModel),
    (401, {"error": "Unauthorized"}, WrongKey),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "type": "missing"}]}, ModelRejected),
]  # fmt: skip
OLLAMA = [
    (
        400,
        said("registry.ollama.ai/library/gemma:2b does not support tools", type="api_error", code=None),
        ToolsUnsupported,
    ),
    (400, {"error": "hf.co/some/model does not support tools"}, ToolsUnsupported),
    (404, said('model "llama9" not found, try pulling it first', type="api_error"), UnknownModel),
    (500, said("llama runner process has terminated: exit status 2", type="api_error"), EndpointFailed),
    (503, {"error": "server busy, please try again. maximum pending requests exceeded"}, EndpointBusy),
]
LLAMA_CPP = [
    (400, said("the request exceeds the available context size, try increasing it", code=400,
               type="exceed_context_size_error", n_prompt_tokens=14429, n_ctx=8192), ContextOverflow),
    (500, said("the request exceeds the available context size", type="exceed_context_size_error"), ContextOverflow),
    (503, said("Loading model", code=503, type="unavailable_error"), EndpointBusy),
    (401, said("Invalid API Key", code=401, type="authentication_error"), WrongKey),
    (500, said("tools param requires --jinja flag", code=500, type="server_error"), ToolsUnsupported),
    (500, {"code": 500, "message": "Unsupported param: tools", "type": "server_error"}, ToolsUnsupported),
]  # fmt: skip
DEEPSEEK = [
    (402, said("Insufficient Balance", type="unknown_error", code="invalid_request_error"), QuotaExhausted),
    (400, said("Model Not Exist", type="invalid_request_error", code="invalid_request_error"), UnknownModel),
    (400, said("Content Exists Risk", type="invalid_request_error"), ContentFilter),
    (401, said("Authentication Fails (no such user)", type="authentication_error"), WrongKey),
    (422, said("Failed to deserialize the JSON body into the target type"), ModelRejected),
    (503, "Service Unavailable", EndpointBusy),
]
QWEN = [
    (400, said("Range of input length should be [1, 30720]", code="invalid_parameter_error"), ContextOverflow),
    (400, said("Input data may contain inappropriate content.", code="data_inspection_failed"), ContentFilter),
    (400, said("Access denied, please make sure your account is in good standing.", code="Arrearage"), QuotaExhausted),
    (429, said("Allocated quota exceeded, please increase your quota limit.", code="insufficient_quota"), RateLimited),
    (429, said("You exceeded your current quota. For details, see: https://help/error-code#token-limit",
               code="insufficient_quota"), RateLimited),
    (403, said("The free tier of the model has been exhausted.", code="AllocationQuota.FreeTierOnly"), QuotaExhausted),
    (403, said("Model access denied.", code="Model.AccessDenied"), AccessDenied),
    (401, said("Incorrect API key provided.", code="invalid_api_key"), WrongKey),
]  # fmt: skip
OTHERS = [
    (404, said("No endpoints found that support tool use.", code=404), ToolsUnsupported),
    (
        403,
        said("openai/gpt requires moderation on OpenAI. Your input was flagged for violence", code=403),
        ContentFilter,
    ),
    (402, said("Insufficient credits. Add more", code=402), QuotaExhausted),
    (400, [said("API key not valid. Please pass a valid API key.", code=400, status="INVALID_ARGUMENT")], WrongKey),
    (
        400,
        said("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        ContextOverflow,
    ),
    (400, said("prompt is too long: 208310 tokens > 200000 maximum", type="invalid_request_error"), ContextOverflow),
    (413, "<html><head><title>413</title></head><body>Request Entity Too Large</body></html>", ModelRejected),
    (529, said("Overloaded", type="overloaded_error"), EndpointBusy),
    (502, "<html><body><h1>502 Bad Gateway</h1></body></html>", EndpointFailed),
    (405, {"detail": "Method Not Allowed"}, UnknownModel),
    (418, None, ModelRejected),
]
ROWS = [*OPENAI, *AZURE, *VLLM, *OLLAMA, *LLAMA_CPP, *DEEPSEEK, *QWEN, *OTHERS]
COSTS_NOTHING = (RateLimited, QuotaExhausted, WrongKey, AccessDenied, UnknownModel, ModelRejected, ContextOverflow)


@pytest.mark.parametrize(("status", "body", "expected"), ROWS)
def test_each_known_body_names_its_culprit(status: int, body: object, expected: type[CallEnded]) -> None:
    error = from_status(status, body, {})
    assert type(error) is expected, error
    assert error.status == status
    assert (error.usage == Usage()) == isinstance(error, COSTS_NOTHING)


@pytest.mark.parametrize(
    ("status", "culprit"),
    [(429, Culprit.TRANSIENT), (500, Culprit.TRANSIENT), (503, Culprit.TRANSIENT), (400, Culprit.RUN),
     (422, Culprit.RUN), (401, Culprit.OPERATOR), (403, Culprit.OPERATOR), (404, Culprit.OPERATOR)],
)  # fmt: skip
@pytest.mark.parametrize("body", [None, "", "text", {}, [], 7, {"error": None}, {"error": {"message": None}}])
def test_a_status_alone_is_enough(status: int, culprit: Culprit, body: object) -> None:
    assert from_status(status, body, {}).culprit is culprit


def test_an_endpoint_without_tool_calls_is_told_with_a_dialect_that_works_there() -> None:
    error = from_status(400, said("m does not support tools"), {})
    assert "text dialect such as react_json" in error.message


def test_the_whole_fleet_pauses_for_a_limit_and_an_overload_only() -> None:
    pausing = {status for status in (408, 409, 429, 500, 502, 503, 504, 529)
               if getattr(from_status(status, None, {}), "pauses_endpoint", False)}  # fmt: skip
    assert pausing == {429, 503, 529}


def test_a_wait_beyond_reason_is_bounded_and_told() -> None:
    error = from_status(429, said("slow down"), {"retry-after": "9999999"})
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 86_400
    assert "asked for 9999999 s, bounded to 86400 s" in error.message


def test_a_long_page_becomes_a_short_sentence() -> None:
    page = "<!DOCTYPE html><html><style>body {color: red}</style><body><h1>Bad gateway</h1>" + "x " * 5000
    message = from_status(502, page, {}).message
    assert "Bad gateway" in message
    assert "color" not in message
    assert len(message) < 500


def test_given_keys_and_whatever_looks_like_one_are_taken_out() -> None:
    body = said("key abcd-efgh-1234 refused; Bearer eyJhbGciOi.abc; sk-proj-12345678; gsk-abcdef123")
    message = from_status(401, body, {}, secrets=["abcd-efgh-1234"]).message
    assert "key [key] refused; [key]; [key]; [key]" in message


def test_the_providers_full_stop_does_not_stand_before_what_to_do() -> None:
    error = from_status(401, said("Incorrect API key provided."), {})
    assert error.message == "the model endpoint answered 401: Incorrect API key provided; check the API key"
