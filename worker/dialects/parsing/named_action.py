"""Reads `Action: tool` with `Action Input: …`, for the dialects react_json and react_text."""

from __future__ import annotations

import re
from collections.abc import Callable

from worker.core.records import ToolRequest, ToolView
from worker.dialects.parsing.arguments import Given, Refused, as_arguments, nothing_given
from worker.dialects.parsing.binding import needs_input
from worker.dialects.parsing.brackets import TwoReadings, closing
from worker.dialects.parsing.calls import read_call
from worker.dialects.parsing.fences import fence_at
from worker.dialects.parsing.finish import FINISH_COLON, FINISH_OPENS, finish, finish_colon
from worker.dialects.parsing.inputs import bracketed_input, json_input
from worker.dialects.parsing.labelled import Bad, Call, Outcome, Said
from worker.dialects.parsing.labels import Kind, Label
from worker.dialects.parsing.lenient import AtEnd, read_value
from worker.dialects.parsing.names import Named, find_tool, says_final, says_none
from worker.dialects.parsing.page import STRONG, Page, answer_end
from worker.dialects.parsing.strings import Unreadable

InputReader = Callable[[Page, int, ToolView | None], Given | Refused]
_NAME_ENDS = STRONG | {Kind.WEAK_INPUT, Kind.WEAK_OBSERVATION, Kind.WEAK_ACTION}
_JOINED = re.compile(r"\s*[`*\"'\[<]{0,4}([^\W\d][\w.\-]{0,63})[`*\"'\]>]{0,4}(?:[ \t]*[:：]?[ \t]*(?=[({])|(?=\[))")
_NAME_KEYS = ("action", "tool", "tool_name", "name")
_INPUT_KEYS = ("action_input", "tool_input", "tool_args", "arguments", "args", "parameters", "input")
_THOUGHT_KEYS = frozenset({"thought", "thoughts", "reasoning"})
_FINAL_KEYS = frozenset({"answer", "final_answer"})
_ANSWER_KEYS = ("answer", "final_answer", "output", "input", "text", "content", "result", "response")


def named_action(page: Page, label: Label, read_input: InputReader) -> Outcome | None:
    """Reads the action after an action label; None if the label holds a remark and no input follows."""
    following = next((other for other in page.labels.after(label.end) if other.kind in _NAME_ENDS), None)
    if (
        following is not None
        and following.kind is Kind.WEAK_ACTION
        and not page.text[label.end : following.start].strip()
    ):
        return named_action(page, following, read_input)
    end = following.start if following else len(page.text)
    given_at = following.end if following and following.kind in (Kind.INPUT, Kind.WEAK_INPUT) else None
    begin, line_end = _name_line(page.text, label.end, end)
    written = page.text[begin:line_end]
    named = find_tool(written, page.tools)
    fenced = written.startswith(("```", "~~~")) and (named is None or named.tool is None)
    if re.match(r"\{|\[\s*\{", written) or fenced:
        return blob(page, begin, label.start)
    if not written.strip(" *`") and following is not None and following.kind is Kind.INPUT:
        return Bad("The tool's name is missing.")
    if says_none(written):
        return None
    if (finishing := _finishing(page, label)) is not None:
        return finishing
    if says_final(written, page.tools):
        return _final(page, label, given_at if given_at is not None else line_end)
    if given_at is None and (joined := _joined(page, label, end)) is not None:
        return joined
    if named is None:
        return _not_a_name(given_at)
    if given_at is not None:
        return _call(named, label, read_input(page, given_at, named.tool))
    return _without_input_label(page, label, named, line_end, following)


def _finishing(page: Page, label: Label) -> Outcome | None:
    """Reads an answer in another dialect's form: `Finish[…]`, `finish(answer="…")`, `Final Answer: …`."""
    colon = FINISH_COLON.match(page.text, label.end)
    if colon is not None:
        return finish_colon(page, label.start, colon.end())
    opening = FINISH_OPENS.match(page.text, label.end)
    return finish(page, opening, label.start) if opening and says_final(opening.group("name"), page.tools) else None


def blob(page: Page, begin: int, start: int) -> Outcome | None:
    """Reads an action written as one JSON object with its name and input (`{"action": …, "action_input": …}`)."""
    fence = fence_at(page.text, begin)
    if fence is not None and not fence.body(page.text).lstrip().startswith(("{", "[")):
        return Bad("The Action line must hold the name of one tool.")
    body_at = fence.body_start if fence else begin
    try:
        read = read_value(page.text, body_at, AtEnd.CLOSE_OUTER)
    except Unreadable as error:
        return Bad(f"The action is not valid JSON: {error}.")
    value = read.value[0] if isinstance(read.value, list) and len(read.value) == 1 else read.value
    if not isinstance(value, dict):
        return Bad("The action holds several calls. Write one.") if isinstance(value, list) else None
    value = {key.lower().replace(" ", "_"): inner for key, inner in value.items()}
    end = max(read.end, fence.end if fence and fence.closed else 0)
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    if name is None:
        answers = [inner for key, inner in value.items() if key not in _THOUGHT_KEYS]
        return _final_value(answers[0], start, end) if len(answers) == 1 and set(value) & _FINAL_KEYS else None
    given = next((value[key] for key in _INPUT_KEYS if key in value), None)
    if says_final(name, page.tools):
        return _final_value(given, start, end)
    named = find_tool(name, page.tools)
    if named is None:
        return Bad("The action must hold the name of one tool.")
    args = nothing_given(named.tool, end) if given in (None, "") else as_arguments(given, named.tool)
    if isinstance(args, (Given, Refused)):
        return _call(named, start, args)
    return Call(ToolRequest(named.name, args), start, end)


def _name_line(text: str, begin: int, end: int) -> tuple[int, int]:
    """Returns the first line between `begin` and `end` that is not blank."""
    while begin < end and (text[begin].isspace() or text[begin] in "\u200b\ufeff"):
        begin += 1
    line_end = text.find("\n", begin, end)
    return begin, line_end if line_end >= 0 else end


def _not_a_name(given_at: int | None) -> Outcome | None:
    return Bad("The Action line must hold the name of one tool and nothing else.") if given_at is not None else None


def _call(named: Named, start: Label | int, given: Given | Refused) -> Outcome:
    if isinstance(given, Refused):
        return Bad(given.reason)
    begin = start.start if isinstance(start, Label) else start
    return Call(ToolRequest(named.name, given.args), begin, given.end)


def _joined(page: Page, label: Label, end: int) -> Outcome | None:
    """Reads name and input on one line: `calculator {"expression": …}` or `calculator(expression=…)`."""
    match = _JOINED.match(page.text, label.end, end)
    named = find_tool(match.group(1), page.tools) if match else None
    if match is None or named is None or named.tool is None:
        return None
    if page.text[match.end()] == "{":
        return _call(named, label, json_input(page, match.end(), named.tool))
    if page.text[match.end()] == "[":
        return _bracketed(page, match.end(), end, named, label)
    given = read_call(page.text[:end], match.end() + 1, named.tool, page.tools, went_on=end < len(page.text))
    if isinstance(given, Given) and isinstance(given.args, str) and page.text[match.end() + 1] not in "\"'{":
        return None
    return _call(named, label, given)


def _bracketed(page: Page, begin: int, limit: int, named: Named, label: Label) -> Outcome | None:
    width = 2 if page.text.startswith("[[", begin) else 1
    try:
        end = closing(page.text[:limit], begin + width, width)
    except TwoReadings:
        return Bad("Brackets in the input make its end unclear.")
    if end is None:
        return Bad("The input is not closed.")
    return _call(named, label, bracketed_input(page.text[begin + width : end], named.tool, end + width))


def _without_input_label(
    page: Page, label: Label, named: Named, line_end: int, following: Label | None
) -> Outcome | None:
    """Reads a name without an input label: a JSON object or program may follow, or the tool needs no input."""
    end = following.start if following else len(page.text)
    rest = page.text[line_end:end].lstrip()
    if named.tool is not None and rest.startswith(("{", "```", "~~~")):
        return _call(named, label, json_input(page, line_end, named.tool))
    if named.tool is None:
        answered = following is not None and following.kind is Kind.ANSWER
        missing = Bad(f"There is no tool {named.name}, and its input is missing.")
        return None if answered or rest or " " in named.name else missing
    if rest or needs_input(named.tool):
        return Bad(f"The line with the input of {named.name} is missing.")
    return Call(ToolRequest(named.name, {}), label.start, line_end)


def _final(page: Page, label: Label, at: int) -> Outcome:
    """Reads an answer written as an action: `Action: Final Answer` / `Action Input: …`."""
    end, turn = answer_end(page, Label(Kind.ANSWER, label.start, at, label.style))
    text = page.text[at:end].strip()
    if text.startswith("{"):
        try:
            read = read_value(text)
        except Unreadable:
            return Bad("The answer is not valid JSON; write it as plain text.")
        return _final_value(read.value, label.start, end)
    return Said(text, label.start, end, turn) if text else Bad("The answer is empty.")


def _final_value(value: object, start: int, end: int) -> Outcome:
    if isinstance(value, dict) and len(value) == 1:
        key, value = next(iter(value.items()))
        value = value if key in _ANSWER_KEYS else None
    if isinstance(value, str) and value.strip():
        return Said(value.strip(), start, end)
    return Bad("The answer must be plain text.")
