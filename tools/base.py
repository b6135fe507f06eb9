"""The `@tool` decorator and the Tool that it makes. Tool files import everything they need from here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, overload

from pydantic import BaseModel

from tools.kit.arguments import as_object, check
from tools.kit.clean import clean
from tools.kit.context import ArtifactRef, Artifacts, MemoryArtifacts, MemoryNotes, Notes, ToolContext
from tools.kit.docstring import read_docstring
from tools.kit.errors import BadArguments, BadTool, ToolCrashed, ToolError, ToolFailure
from tools.kit.results import File, ToolResult, keep, parts_of, shorten
from tools.kit.running import guarded, run
from tools.kit.schema import schema_of, text_parameter
from tools.kit.secrets import mask_secrets
from tools.kit.signature import Signature, read_signature

__all__ = [
    "ArtifactRef",
    "Artifacts",
    "BadArguments",
    "BadTool",
    "File",
    "MemoryArtifacts",
    "MemoryNotes",
    "Notes",
    "Tool",
    "ToolContext",
    "ToolCrashed",
    "ToolError",
    "ToolFailure",
    "ToolResult",
    "tool",
]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_GROUP = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call, with its schema and limits.

    `concurrency` limits simultaneous calls across the fleet; `cache_s` says how long an equal call may reuse a
    result; None means no limit and no cache. `parameters` is the JSON schema of the arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any] = field(repr=False)
    signature: Signature = field(repr=False)
    group: str = "local"
    timeout_s: float = 30.0
    max_attempts: int = 2
    idempotent: bool = False
    max_observation_chars: int = 8000
    concurrency: int | None = None
    cache_s: float | None = None
    code_language: str | None = None

    @property
    def queue(self) -> str:
        """The Celery queue of its group."""
        return f"tools.{self.group}"

    @property
    def task_name(self) -> str:
        """The Celery task type that runs it."""
        return f"tools.{self.name}"

    @property
    def text_parameter(self) -> str | None:
        """The parameter that plain text goes to: the only required string, or the only string; else None."""
        return text_parameter(self.parameters)

    @property
    def origin(self) -> str:
        """`module:function` of its code."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    def validate(self, args: Mapping[str, Any] | str) -> dict[str, Any]:
        """Returns the arguments as plain JSON, with safe type repairs; raises BadArguments saying what is allowed.

        Plain text becomes the text parameter. Defaults are not filled in. Idempotent.
        """
        try:
            with guarded(self.name):  # types and validators are the tool's own code
                return self._checked(args).model_dump(mode="json", by_alias=True, exclude_unset=True)
        except ToolCrashed as crash:
            raise BadArguments(f"The arguments could not be checked: {crash.message}") from crash

    def call(self, args: Mapping[str, Any] | str, context: ToolContext | None = None) -> ToolResult:
        """Runs the tool here and now. Raises only ToolFailure: BadArguments, or ToolError with a text for the model.

        The observation is cut to `max_observation_chars` (the whole is kept as an artifact); secrets are masked.
        """
        context = context or ToolContext()
        try:
            with guarded(self.name):
                keywords = self.signature.keywords(self._checked(args), context)
                value = run(self.function, keywords, context, self.name)
                parts = parts_of(value)
            return self._fitted(keep(parts, context.artifacts), context)
        except ToolFailure as failure:
            failure.message = shorten(
                mask_secrets(clean(failure.message), in_error=True), self.max_observation_chars, ""
            )[0]
            failure.args = (failure.message,)
            raise

    def _checked(self, args: Mapping[str, Any] | str) -> BaseModel:
        given = as_object(self.parameters, self.text_parameter, self.name, args)
        return check(self.signature.model, self.parameters, self.name, given)

    def _fitted(self, result: ToolResult, context: ToolContext) -> ToolResult:
        text = mask_secrets(clean(result.observation))
        if len(text) <= self.max_observation_chars:
            return ToolResult(text, result.artifacts, result.left_out_chars)
        name = f"observation-{context.step}-{context.call}.txt"
        whole = context.artifacts.save(name, text.encode(), "text/plain; charset=utf-8")
        hint = (
            f"The whole is kept as {whole.name} ({whole.uri}). To read more, call {self.name} again for a smaller part."
        )
        cut, left_out = shorten(text, self.max_observation_chars, hint)
        return ToolResult(cut, (*result.artifacts, whole), result.left_out_chars + left_out)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Calls the plain function, as if it were not decorated."""
        return self.function(*args, **keywords)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    group: str = "local",
    timeout_s: float = 30.0,
    max_attempts: int = 2,
    idempotent: bool = False,
    max_observation_chars: int = 8000,
    concurrency: int | None = None,
    cache_s: float | None = None,
    code_language: str | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a typed, documented function (sync or async) a tool: `@tool`, or `@tool(group="web", idempotent=True)`.

    The model reads the docstring; types and defaults become the schema. A parameter annotated `ToolContext` is not
    shown to the model. Raises BadTool if something is missing.
    """
    if function is not None:
        return _make(function, None, {})
    return lambda decorated: _make(decorated, name, options)


def _make(function: Callable[..., Any], name: str | None, options: dict[str, Any]) -> Tool:
    name = str(name or getattr(function, "__name__", ""))
    if not _NAME.fullmatch(name):
        raise BadTool(repr(name), "a name starts with a letter and has at most 64 letters, digits, _ and -")
    description, parameter_texts = read_docstring(function.__doc__)
    if not description:
        raise BadTool(name, "it has no docstring; a model chooses tools by what their docstrings say")
    signature = read_signature(function, name, parameter_texts)
    made = Tool(name, description, schema_of(signature.model, name), function, signature, **options)
    _check_limits(made)
    return made


def _check_limits(made: Tool) -> None:
    if not _GROUP.fullmatch(made.group):
        raise BadTool(made.name, f"group {made.group!r} must be lower-case letters, digits, _ and -")
    positive: dict[str, float | None] = {
        "timeout_s": made.timeout_s,
        "max_attempts": made.max_attempts,
        "max_observation_chars": made.max_observation_chars,
        "concurrency": made.concurrency,
        "cache_s": made.cache_s,
    }
    for limit, value in positive.items():
        if value is not None and not value > 0:
            raise BadTool(made.name, f"{limit} must be more than 0, not {value}")
    if made.cache_s is not None and not made.idempotent:
        raise BadTool(made.name, "cache_s needs idempotent=True, since a cached call has no effect")
    if made.code_language and made.text_parameter is None:
        raise BadTool(made.name, "code_language needs one string parameter that takes the program")
