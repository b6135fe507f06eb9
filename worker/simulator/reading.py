"""Reads a chat request: which form of reply it asks for, the tools it lists, the question, what was observed since."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from worker.simulator.records import Conversation, Observation, Param, ToolSpec

_TOOL_LINE = re.compile(r"^[-*][ \t]+`?([A-Za-z_][\w.-]*)`?\((.*)\)[ \t]*(.*)$", re.MULTILINE)
_OBSERVED = re.compile(r"^\s*Observation\s*:\s*", re.IGNORECASE)
_MARKED = re.compile(r"<result>\n?(.*?)\n?</result>", re.DOTALL)
_ANSWERED = re.compile(r"^\W*(?:Final )?Answer\s*:|\bFinish\[|\"type\"\s*:\s*\"answer\"", re.MULTILINE)
_UNREADABLE = re.compile(
    r"^\W*(?:[Yy]our|[Tt]he)(?: last)? (?:reply|input|arguments?)\b|^\W*(?:Observation: )?There is no tool\b"
    r"|\brepl(?:y|ies)\b.{0,40}could not be (?:read|parsed)"
    r"|\bWrite either\b|\bReply with one JSON object\b|\bCall a tool through the API's tool calls\b"
)
_LAST_CALL = re.compile(r"answer now|last (?:allowed )?step|final step", re.IGNORECASE)
_FAILED = re.compile(
    r"^\W*(?:\w+\s+){0,3}(?:error|failed|failure|unavailable|not found|cannot|could not|timed out|time-?out)\b"
    r"|\boutcome (?:is|of \S+ is) unknown\b|^\W*(?:there is )?(?:no|unknown) (?:tool|city|such)\b|\bfailed:"
    r"|^\W*\w*(?:Error|Exception)\b|\bis not in the demo table\b"
    r"|^Traceback \(most recent|^The program (?:was (?:stopped|not run|killed)|ended|crashed)"
    r"|^\w+ (?:was stopped:|did not finish within|takes a JSON object)|\bis not known whether it took effect\b"
    r"|^\w+: (?:the arguments must|plain text cannot)|^\w+: `[\w.]+` ?(?:is missing|is not an argument|should|:)",
    re.IGNORECASE,
)
_HEAD_CHARS = 200
_REMARK_CHARS = 2000
_QUESTION_CHARS = 4000


def read(body: Mapping[str, Any]) -> Conversation:
    """The conversation of a chat completions request. Never raises: odd content is read as far as it goes."""
    messages = [_unmarked(message) for message in body.get("messages", ()) if isinstance(message, dict)]
    prompt = "\n".join(_text(message) for message in messages if message.get("role") in ("system", "developer"))
    native = bool(body.get("tools"))
    start = _question_at(messages, native)
    question = _text(messages[start]) if start is not None else ""
    if not prompt:
        prompt, question = _split_prompt(question)
    since = messages[start + 1 :] if start is not None else []
    if at_once := not since and "\n\n" in question and _asks_for_answer(question):
        question = _without_last_call(question)
    return Conversation(
        question=re.sub(r"^\s*Question\s*:\s*", "", question, flags=re.IGNORECASE).strip()[:_QUESTION_CHARS],
        form="native" if native else form_of(prompt),
        tools=_native_tools(body["tools"]) if native else listed_tools(prompt),
        observations=tuple(_observations(since)),
        told_to_answer=at_once or (bool(since) and _is_last_call(since[-1])),
        corrected=bool(since) and _is_notice(since[-1]),
    )


@lru_cache(maxsize=256)
def form_of(prompt: str) -> str:
    """The name of the form that a system prompt asks for; `plain` where it asks for none."""
    if re.search(r'"type"\s*:\s*"tool_call"', prompt):
        return "json"
    if "Finish[" in prompt:
        return "react_call"
    if re.search(r"^\s*Action\s*:.*\[\[", prompt, re.MULTILINE):
        return "react_brackets"
    if "Action Input:" in prompt:
        return "react_text" if "Final Answer:" in prompt else "react_json"
    return "plain"


@lru_cache(maxsize=256)
def listed_tools(prompt: str) -> Mapping[str, ToolSpec]:
    """Tools from lines such as `- name(city: string, days: integer = 1)`."""
    return {
        match[1]: ToolSpec(match[1], tuple(_params(match[2])), match[3].strip(" :-—"))
        for match in _TOOL_LINE.finditer(prompt)
    }


def _params(signature: str) -> list[Param]:
    params = []
    for part in _split_top(signature):
        name, _, kind = part.partition(":")
        bare = name.strip().rstrip("?")
        if re.fullmatch(r"\w+", bare.partition("=")[0].strip()):
            optional = (
                "=" in part or name.strip().endswith("?") or "optional" in kind or "None" in kind or "null" in kind
            )
            params.append(
                Param(bare.partition("=")[0].strip(), kind.partition("=")[0].strip() or "string", not optional)
            )
    return params


def _split_top(text: str) -> list[str]:
    """Splits at commas that stand outside brackets and quotes."""
    parts, depth, quote, current = [], 0, "", ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if char == "," and depth == 0 and not quote:
            parts.append(current)
            current = ""
        else:
            current += char
    return [part for part in (*parts, current) if part.strip()]


def _native_tools(tools: Sequence[Any]) -> dict[str, ToolSpec]:
    specs = {}
    for tool in tools:
        function = tool.get("function", {}) if isinstance(tool, dict) else {}
        if name := function.get("name"):
            params = tuple(_schema_params(function.get("parameters") or {}))
            specs[name] = ToolSpec(name, params, function.get("description", ""))
    return specs


def _schema_params(schema: Mapping[str, Any]) -> Iterator[Param]:
    for name, spec in schema.get("properties", {}).items():
        yield Param(name, str(spec.get("type", "string")), name in schema.get("required", ()))


def _question_at(messages: Sequence[Mapping[str, Any]], native: bool) -> int | None:
    """The last user message that opens a question: the first one, or one after an answer, as after examples."""
    found = None
    for index, message in enumerate(messages):
        if message.get("role") == "user" and (found is None or _answers(messages[index - 1], _text(message), native)):
            found = index
    return found


def _answers(before: Mapping[str, Any], told: str, native: bool) -> bool:
    """Whether the message before is a final answer, and what follows is no remark upon it."""
    if before.get("role") != "assistant" or before.get("tool_calls"):
        return False
    remark = _OBSERVED.match(told) or _UNREADABLE.search(told[:_REMARK_CHARS]) or _asks_for_answer(told)
    said = _text(before)
    return not remark and (native or bool(_ANSWERED.search(said))) and said not in ("", "(empty reply)")


def _split_prompt(text: str) -> tuple[str, str]:
    """A prompt and its question in one user message, the question after the last `Question:` line."""
    matches = list(re.finditer(r"^\s*Question\s*:", text, re.MULTILINE))
    return (text[: matches[-1].start()], text[matches[-1].start() :]) if matches else (text, text)


def _is_notice(message: Mapping[str, Any]) -> bool:
    """A remark on the reply before, which could not be used as it was."""
    text = _text(message)
    if message.get("role") == "tool":
        return bool(_UNREADABLE.search(text[:_HEAD_CHARS]))
    observed = _OBSERVED.match(text)
    return message.get("role") == "user" and (not observed or bool(_UNREADABLE.search(text[: observed.end() + 120])))


def _is_last_call(message: Mapping[str, Any]) -> bool:
    """Told to answer: in a message of its own, or in the last paragraph of an observation."""
    return message.get("role") != "assistant" and _asks_for_answer(_text(message))


def _asks_for_answer(text: str) -> bool:
    return bool(_LAST_CALL.search(text.rpartition("\n\n")[2]))


def _without_last_call(content: str) -> str:
    """The observation alone, without the line that asks for the answer and what follows it."""
    before, gap, last = content.rpartition("\n\n")
    lines = last.splitlines()
    asked = next(index for index, line in enumerate(lines) if _LAST_CALL.search(line))
    return (before + gap + "\n".join(lines[:asked])).strip()


def _observations(messages: Sequence[Mapping[str, Any]]) -> list[Observation]:
    found = []
    for message in messages:
        if message.get("role") not in ("user", "tool") or _is_notice(message):
            continue
        content = _OBSERVED.sub("", _text(message), count=1).strip()
        if _is_last_call(message):
            content = _without_last_call(content)
        if content:
            found.append(Observation(content, bool(_FAILED.search(content[:_HEAD_CHARS]))))
    return found


def _unmarked(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without the mark that says where a tool's result begins and ends."""
    content = message.get("content")
    if message.get("role") not in ("user", "tool") or not isinstance(content, str):
        return message
    return {**message, "content": _MARKED.sub(r"\1", content, count=1)}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else json.dumps(content)
