"""The decorator: schemas, checks, calls, results, and what is refused."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from tools.base import (
    BadArguments,
    BadTool,
    File,
    MemoryArtifacts,
    Tool,
    ToolContext,
    ToolCrashed,
    ToolError,
    ToolResult,
    tool,
)
from tools.kit.secrets import mask_secrets


@tool(group="web", timeout_s=5.0, idempotent=True)
def look_up(query: str, limit: Annotated[int, Field(ge=1, le=9)] = 3, kind: Literal["new", "old"] | None = None) -> str:
    """Looks things up.

    Use it for facts.

    Args:
        query: What to look for,
            in a few words.
        limit: How many.

    Returns:
        The facts.

    Raises:
        Nothing that a model cares for.
    """
    return f"{query!r} {limit} {kind}"


class Trip(BaseModel):
    city: str = Field(description="Where to")
    days: int = 1


@tool
def plan(trip: Trip) -> str:
    """Plans a trip."""
    return f"{trip.days} in {trip.city}"


def test_the_schema_comes_from_types_and_docstring() -> None:
    properties = look_up.parameters["properties"]
    assert properties["query"] == {"type": "string", "description": "What to look for, in a few words."}
    assert properties["limit"]["maximum"] == 9
    assert properties["limit"]["default"] == 3
    assert properties["kind"] == {"enum": ["new", "old"], "type": "string"}
    assert look_up.parameters["required"] == ["query"]
    assert look_up.description == "Looks things up.\n\nUse it for facts.\n\nReturns: The facts."


def test_a_tool_names_its_queue_task_and_origin() -> None:
    assert (look_up.queue, look_up.task_name, look_up.name) == ("tools.web", "tools.look_up", "look_up")
    assert look_up.origin.endswith("test_base:look_up")
    assert look_up("x") == "'x' 3 None"


def test_one_pydantic_model_is_the_arguments_themselves() -> None:
    assert plan.parameters["required"] == ["city"]
    assert plan.text_parameter == "city"
    assert plan.call({"city": "Oslo", "days": "2"}).observation == "2 in Oslo"


def test_plain_text_goes_to_the_only_required_string() -> None:
    assert look_up.text_parameter == "query"
    assert look_up.validate("cats") == {"query": "cats"}


def test_plain_text_is_refused_where_there_is_a_choice() -> None:
    @tool
    def route(start: str, end: str) -> str:
        """Finds a way."""
        return start + end

    assert route.text_parameter is None
    with pytest.raises(BadArguments, match=r'write \{"start": "…", "end": "…"\}'):
        route.validate("Oslo to Rome")


def test_validation_mends_types_and_is_safe_to_repeat() -> None:
    once = look_up.validate({"query": 42, "limit": "5", "kind": None})
    assert once == {"query": "42", "limit": 5}
    assert look_up.validate(once) == once


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "`query` is missing"),
        ({"query": "x", "qery": 1}, "`qery` is not an argument of it"),
        ({"query": "x", "limit": 10}, "`limit` should be less than or equal to 9, got 10"),
        (
            {"query": "x", "limit": "ten"},
            '`limit` should be a valid integer, unable to parse string as an integer, got "ten"',
        ),
        ({"query": "x", "kind": "red"}, "`kind` should be 'new' or 'old'"),
        ({"query": None}, "`query` should be a valid string, got null"),
        ([1], "the arguments must be a JSON object, not [1]"),
    ],
)
def test_bad_arguments_say_what_was_wrong_and_what_is_allowed(args: Any, said: str) -> None:
    with pytest.raises(BadArguments) as caught:
        look_up.validate(args)
    assert said in caught.value.message
    assert (
        'Allowed arguments: query (string, required); limit (integer); kind (one of "new", "old").'
        in caught.value.message
    )


def test_parameters_may_have_names_that_pydantic_uses_itself() -> None:
    @tool
    def odd(schema: str, json: int, model_config: bool, copy: float = 1.5) -> str:
        """Odd names."""
        return f"{schema} {json} {model_config} {copy}"

    assert odd.call({"schema": "s", "json": 1, "model_config": True}).observation == "s 1 True 1.5"


def test_the_context_is_handed_over_and_hidden_from_the_model() -> None:
    @tool
    def remember(text: str, context: ToolContext) -> str:
        """Remembers."""
        context.notes.append("run", "pad", text)
        context.notes.append("run", "pad", text)
        return f"{context.run_id} {context.idempotency_key} {context.notes.get('run', 'pad')}"

    assert list(remember.parameters["properties"]) == ["text"]
    assert remember.call("hi", ToolContext(run_id="r1", idempotency_key="k")).observation == "r1 k hi\nhi"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (None, "Done. The tool returned nothing."),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        (date(2026, 1, 2), "2026-01-02"),
        ([], "No results (an empty list)."),
        (
            [{"a": 1, "b": "x|y\nz"}, {"a": None, "c": True}],
            "| a | b | c |\n| --- | --- | --- |\n| 1 | x\\|y z |  |\n|  |  | true |",
        ),
        (Trip(city="Oslo"), '{"city": "Oslo", "days": 1}'),
        (ToolResult("done"), "done"),
    ],
)
def test_what_a_function_returns_becomes_text_for_a_model(value: object, text: str) -> None:
    @tool
    def give() -> Any:
        """Gives."""
        return value

    assert give.call({}).observation == text


def test_files_become_artifacts_that_the_observation_names() -> None:
    @tool
    def draw() -> Any:
        """Draws."""
        return ["Drawn.", File("a.png", b"1234"), b"raw"]

    artifacts = MemoryArtifacts()
    result = draw.call({}, ToolContext(artifacts=artifacts))
    assert artifacts.files == {"a.png": b"1234", "result.bin": b"raw"}
    assert [ref.media_type for ref in result.artifacts] == ["image/png", "application/octet-stream"]
    assert result.observation.startswith("Drawn.\nSaved file a.png (image/png, 4 bytes): memory:a.png")


def test_a_long_observation_is_cut_kept_whole_and_says_so() -> None:
    @tool(max_observation_chars=100)
    def talk() -> str:
        """Talks."""
        return "a" * 500 + "end"

    artifacts = MemoryArtifacts()
    result = talk.call({}, ToolContext(step=2, call=1, artifacts=artifacts))
    assert result.left_out_chars == 403
    assert "403 of 503 characters left out" in result.observation
    assert result.observation.endswith("end")
    assert len(artifacts.files["observation-2-1.txt"]) == 503


def test_secrets_of_the_worker_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def leak(text: str) -> str:
        """Leaks."""
        if text == "fail":
            raise RuntimeError("no sk-veryverysecret")
        return "key sk-veryverysecret and hunter22"

    monkeypatch.setenv("SOME_API_KEY", "sk-veryverysecret")
    monkeypatch.setenv("DATABASE", "postgresql://me:hunter22@db/x")
    assert leak.call("x").observation == "key [hidden] and [hidden]"
    monkeypatch.setenv("DATABASE", "postgresql://me:hunter%32%32@db/x")
    assert leak.call("x").observation == "key [hidden] and [hidden]"
    with pytest.raises(ToolError, match=r"no \[hidden\]"):
        leak.call("fail")


@pytest.mark.parametrize("stand_in", ["ollama", "lm-studio", "not_needed"])
def test_a_stand_in_for_a_key_is_masked_in_errors_and_cut_out_of_no_result(
    monkeypatch: pytest.MonkeyPatch, stand_in: str
) -> None:
    @tool
    def tell(text: str) -> str:
        """Tells."""
        if text == "fail":
            raise ToolError(f"refused {stand_in}")
        return f"about {stand_in}"

    monkeypatch.setenv("SOME_API_KEY", stand_in)
    assert tell.call("x").observation == f"about {stand_in}"
    with pytest.raises(ToolError, match=r"refused \[hidden\]"):
        tell.call("fail")


def test_an_error_that_a_tool_states_is_passed_on_and_any_other_is_a_crash() -> None:
    @tool
    def fail(how: str) -> str:
        """Fails."""
        if how == "said":
            raise ToolError("try Paris", retryable=True)
        raise ConnectionError("gone") if how == "net" else KeyError("k")

    with pytest.raises(ToolError, match=r"^try Paris$") as said:
        fail.call("said")
    assert said.value.retryable
    with pytest.raises(ToolCrashed, match=r"fail failed with ConnectionError: gone\.") as net:
        fail.call("net")
    assert net.value.retryable
    with pytest.raises(ToolCrashed, match="KeyError") as bug:
        fail.call("bug")
    assert not bug.value.retryable
    assert isinstance(bug.value.__cause__, KeyError)


@tool
async def slow(seconds: float) -> str:
    """Waits."""
    await asyncio.sleep(seconds)
    return "waited"


def test_async_functions_run_with_and_without_a_loop_around_them() -> None:
    async def inside() -> ToolResult:
        return slow.call({"seconds": 0})

    assert slow.call({"seconds": 0}).observation == "waited"
    assert asyncio.run(inside()).observation == "waited"


def test_async_functions_stop_at_their_deadline_and_when_cancelled() -> None:
    with pytest.raises(ToolError, match="out of time"):
        slow.call({"seconds": 60}, ToolContext(deadline=time.monotonic() + 0.05))
    cancelled = threading.Event()
    threading.Timer(0.05, cancelled.set).start()
    with pytest.raises(ToolError, match="cancelled"):
        slow.call({"seconds": 60}, ToolContext(cancelled=cancelled.is_set))


def _no_type() -> Callable[..., Any]:
    def f(x) -> str:  # type: ignore[no-untyped-def]
        """Doc."""
        return str(x)

    return f


def _no_docstring() -> Callable[..., Any]:
    def f(x: str) -> str:
        return x

    return f


def _star() -> Callable[..., Any]:
    def f(*x: str) -> str:
        """Doc."""
        return "".join(x)

    return f


def _not_json() -> Callable[..., Any]:
    def f(x: threading.Thread) -> str:
        """Doc."""
        return str(x)

    return f


def _callable() -> Callable[..., Any]:
    def f(x: Callable[[], int]) -> str:
        """Doc."""
        return str(x)

    return f


def _wrong_docstring() -> Callable[..., Any]:
    def f(x: str) -> str:
        """Doc.

        Args:
            y: Not there.
        """
        return x

    return f


@pytest.mark.parametrize(
    ("function", "options", "reason"),
    [
        (_no_type(), {}, "parameter `x` has no type"),
        (_no_docstring(), {}, "no docstring"),
        (_star(), {}, "cannot be passed by name"),
        (_not_json(), {}, "no JSON schema"),
        (_callable(), {}, "no JSON schema"),
        (_wrong_docstring(), {}, "describes y"),
        (look_up.function, {"name": "look up"}, "a name starts with a letter"),
        (look_up.function, {"group": "Web!"}, "group 'Web!'"),
        (look_up.function, {"timeout_s": 0}, "timeout_s must be more than 0"),
        (look_up.function, {"cache_s": 5}, "cache_s needs idempotent=True"),
    ],
)
def test_what_cannot_be_offered_to_a_model_is_refused_with_the_reason(
    function: Callable[..., Any], options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(BadTool, match="tool ") as caught:
        tool(**options)(function)
    assert reason in str(caught.value)


def test_options_have_careful_defaults() -> None:
    assert isinstance(plan, Tool)
    assert (plan.group, plan.idempotent, plan.max_attempts, plan.concurrency, plan.cache_s) == (
        "local",
        False,
        2,
        None,
        None,
    )


def test_settings_come_from_the_environment_and_an_env_file_and_only_those_of_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(
        "STEPMILL_SQL_SALES=a.db\nSTEPMILL_WEATHER_URL=http://file\nOPENAI_API_KEY=sk-in-a-file\n"
    )
    monkeypatch.setenv("STEPMILL_WEATHER_URL", "http://environment")
    monkeypatch.setenv("STEPMILL_DATABASE_URL", "postgresql://x")
    monkeypatch.setenv("STEPMILL_TOOL_MODULES", "mine")
    monkeypatch.setenv("STEPMILL_TOOL_COLOUR", "red")
    found = ToolContext().settings
    assert found["STEPMILL_SQL_SALES"] == "a.db"
    assert found["STEPMILL_WEATHER_URL"] == "http://environment"
    assert found["STEPMILL_TOOL_COLOUR"] == "red"
    assert not found.keys() & {"OPENAI_API_KEY", "STEPMILL_DATABASE_URL", "STEPMILL_TOOL_MODULES"}
    assert mask_secrets("the key is sk-in-a-file") == "the key is [hidden]"
