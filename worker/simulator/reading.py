"""Reads a chat request: which form of reply it asks for, the tools it lists, the question, what was observed since."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from worker.simulator.records import Conversation, Observation, Param, ToolSpec

_TOOL_LINE = re.compile(r"^[ \t]*[-*][ \t]+`?([A-Za-z_][\w.-]*)`?\((.*)\)[ \t]*(.*)$", re.MULTILINE)
_OBSERVED = re.compile(r"^\s*Observation\s*:\s*", re.IGNORECASE)
_UNREADABLE = re.compile(
    r"could not be (?:read|understood|parsed)|cannot be read|not in the (?:required )?format", re.IGNORECASE
)
_LAST_CALL = re.compile(r"answer now|last step|final step", re.IGNORECASE)
_FAILED = re.compile(
    r"^\W*(?:\w+\s+){0,3}(?:error|failed|failure|unavailable|not found|cannot|could not|timed out|time-?out)\b"
    r"|\boutcome (?:is|of \S+ is) unknown\b|^\W*(?:there is )?(?:no|unknown) (?:tool|city|such)\b|\bfailed:"
    r"|^\W*\w*(?:Error|Exception)\b|\bis not in the demo table\b|^\w+ was stopped:"
    r"|^\w+: (?:the arguments must|plain text cannot)|^\w+: `[\w.]+` ?(?:is missing|is not an argument|should|:)",
    re.IGNORECASE,
)
_HEAD_CHARS = 200
_QUESTION_CHARS = 4000


def read(body: Mapping[str, Any]) -> Conversation:
    """The conversation of a chat completions request. Never raises: odd content is read as far as it goes."""
    messages = [m for m in body.get("messages", ()) if isinstance(m, dict)]
    prompt = "\n".join(_text(m) for m in messages if m.get("role") in ("system", "developer"))
    start = _question_at(messages)
    question = _text(messages[start])[:_QUESTION_CHARS] if start is not None else ""
    if not prompt:
        prompt, question = _split_prompt(question)
    since = messages[start + 1 :] if start is not None else []
    native = bool(body.get("tools"))
    return Conversation(
        question=re.sub(r"^\s*Question\s*:\s*", "", question, flags=re.IGNORECASE).strip(),
        form="native" if native else form_of(prompt),
        tools=_native_tools(body["tools"]) if native else listed_tools(prompt),
        observations=tuple(_observations(since)),
        told_to_answer=bool(since)
        and since[-1].get("role") != "assistant"
        and bool(_LAST_CALL.search(_text(since[-1]))),
        corrected=bool(since) and _is_notice(since[-1]),
    )


def form_of(prompt: str) -> str:
    """The name of the form that a system prompt asks for; `plain` where it asks for none."""
    if re.search(r'"type"\s*:\s*"tool_call"', prompt):
        return "json"
    if "Finish[" in prompt:
        return "react_call"
    if re.search(r"^\s*Action\s*:.*\[\[", prompt, re.MULTILINE):
        return "react_brackets"
    if re.search(r"Action Input:\s*\{", prompt):
        return "react_json"
    if "Action Input:" in prompt:
        return "react_text" if "Final Answer:" in prompt else "react_json"
    return "plain"


def listed_tools(prompt: str) -> dict[str, ToolSpec]:
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
        schema = function.get("parameters") or {}
        required = schema.get("required", ())
        params = tuple(
            Param(name, str(spec.get("type", "string")) if isinstance(spec, dict) else "string", name in required)
            for name, spec in schema.get("properties", {}).items()
        )
        if name := function.get("name"):
            specs[name] = ToolSpec(name, params, function.get("description", ""))
    return specs


def _question_at(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """The last user message that is neither an observation nor a notice; few-shot examples come before it."""
    found = None
    for index, message in enumerate(messages):
        if message.get("role") != "user":
            continue
        before = messages[index - 1].get("role") if index else "system"
        if found is None or (before == "assistant" and not _is_told(_text(message))):
            found = index
    return found


def _split_prompt(text: str) -> tuple[str, str]:
    """A prompt and its question in one user message, the question after the last `Question:` line."""
    matches = list(re.finditer(r"^\s*Question\s*:", text, re.MULTILINE))
    return (text[: matches[-1].start()], text[matches[-1].start() :]) if matches else (text, text)


def _is_told(text: str) -> bool:
    head = text[:_HEAD_CHARS]
    return bool(_OBSERVED.match(text) or _UNREADABLE.search(head) or _LAST_CALL.search(head))


def _is_notice(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("user", "tool") and bool(_UNREADABLE.search(_text(message)[:_HEAD_CHARS]))


def _observations(messages: Sequence[Mapping[str, Any]]) -> list[Observation]:
    found = []
    for message in messages:
        text = _text(message)
        observed = message.get("role") == "tool" or (message.get("role") == "user" and _OBSERVED.match(text))
        if observed and not _is_notice(message):
            content = _OBSERVED.sub("", text, count=1).strip()
            if not (_LAST_CALL.search(content[:_HEAD_CHARS]) and message.get("role") == "user"):
                found.append(Observation(content, bool(_FAILED.search(content[:_HEAD_CHARS]))))
    return found


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else json.dumps(content)
