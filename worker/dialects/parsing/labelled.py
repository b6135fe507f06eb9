"""Parses a reply with labels: returns the first real action, or the answer, or why it is neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from worker.core.records import Actions, Answer, Malformed, Parsed, Reply, ToolRequest, ToolView
from worker.dialects.parsing.call_markup import markup_start
from worker.dialects.parsing.cut import MAX_KEPT_CHARS, UNREAD, cut_short, ended_itself, unread_call, with_its_call
from worker.dialects.parsing.fences import within
from worker.dialects.parsing.labels import Kind, Label, find_labels
from worker.dialects.parsing.leaked import MARKUP, Leaked, is_of_known_format, marked_calls, only_markup
from worker.dialects.parsing.page import (
    Page,
    answer_end,
    claims_result,
    close_bold,
    is_form,
    is_quiz,
    make_page,
    without_residue,
    without_rule,
)
from worker.dialects.parsing.repeats import REPEATS_ITSELF, repeats_itself
from worker.dialects.parsing.tidy import tidy, trim_tokens
from worker.dialects.parsing.unmarked import answers_with_call


@dataclass(frozen=True, slots=True)
class Call:
    """An action that was read; it ends at `end`."""

    request: ToolRequest
    start: int
    end: int
    leaked: bool = False
    """Whether it was read from markup, which is left out of history."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer that was read; it ends at `end`. `turn` is the invented new turn that ended it, if any."""

    text: str
    start: int
    end: int
    turn: Label | None = None


@dataclass(frozen=True, slots=True)
class Bad:
    """An action or answer was meant but cannot be read."""

    reason: str


_UNCLEAR_END = "Label words inside the answer make its end unclear; write them in another way."
Outcome = Call | Said | Bad
ActionReader = Callable[[Page, Label], Outcome | None]
"""Reads what follows an action label; None if that is only a remark."""
BareReader = Callable[[Page], Outcome | None]
"""Reads a reply without any action or answer label; None if it is prose."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """How the labelled dialects differ: how an action is read, and how to write one (for reasons)."""

    action: ActionReader
    bare: BareReader
    form: str


def read_labelled(reply: Reply, tools: Sequence[ToolView], grammar: Grammar) -> Parsed:
    """Parses a labelled reply; never raises."""
    tidied = tidy(reply.text)
    page = make_page(tidied.text, tools, finished=ended_itself(reply))
    cut = cut_short(reply)
    if cut is not None:
        return _parsed(page, Bad(cut), tidied.dropped, grammar)
    if not page.text:
        only = "only reasoning" if tidied.dropped else "nothing"
        return Malformed(f"The reply holds {only}. {grammar.form}", kept="", dropped=tidied.dropped)
    outcome = _without_markup(page, _walk(page, grammar))
    if unread_call(reply) and _is_own(page, outcome):
        outcome = Bad(UNREAD)
    return with_its_call(_parsed(page, outcome, tidied.dropped, grammar), reply, grammar.form)


def _is_own(page: Page, outcome: Outcome) -> bool:
    """Whether the outcome is an action written with labels, not a leaked call in a model's own format."""
    own = isinstance(outcome, Call) and not outcome.leaked
    return own and not is_of_known_format(page.text, page.tools)


def _without_markup(page: Page, outcome: Outcome) -> Outcome:
    """Returns the outcome if no stray tool call markup is there; else the call in the markup, or why it is unclear."""
    if isinstance(outcome, Said):
        return _said_without_markup(page, outcome)
    if isinstance(outcome, Call):
        return _call_without_markup(page, outcome)
    leaked = marked_calls(page.text, page.tools)
    if not isinstance(leaked, Leaked):
        return Bad(leaked) if leaked else outcome
    own = [label for label in page.labels.found if label.kind in (Kind.ACTION, Kind.ANSWER)]
    own = [label for label in own if label.start < leaked.start and not within(page.fences, label.start)]
    return outcome if any(not _leads_to(page, label, leaked) for label in own) else _leaked(leaked)


def _leads_to(page: Page, label: Label, leaked: Leaked) -> bool:
    """Whether only the called tool's name is between a label and the call."""
    written = page.text[label.end : leaked.start].partition("\n")[0].strip()
    return not written or (label.kind is Kind.ACTION and written == leaked.calls[0].tool)


def _leaked(leaked: Leaked) -> Call:
    first = leaked.calls[0]
    return Call(ToolRequest(first.tool, first.args), leaked.start, leaked.end, leaked=True)


def _said_without_markup(page: Page, outcome: Said) -> Outcome:
    if repeats_itself(outcome.text):
        return Bad(REPEATS_ITSELF)
    text = page.text[: outcome.turn.start if outcome.turn else len(page.text)]
    leaked = marked_calls(text[outcome.start :], page.tools)
    called = answers_with_call(outcome.text, page.tools)
    # Check the answer by itself too: in the reply, the `]` of `Finish[…]` makes a tag before it look just mentioned.
    if markup_start(text, page.tools) is None and markup_start(outcome.text, page.tools) is None and not called:
        return outcome
    if isinstance(leaked, Leaked) and markup_start(text[: outcome.start], page.tools) is None:
        labels = find_labels(leaked.thought)
        if len(labels) == 1 and not leaked.thought[labels[0].end :].strip():
            return replace(_leaked(leaked), start=outcome.start)
    return Bad("The reply holds an answer and a tool call in markup of its own. Write one of them, without markup.")


def _call_without_markup(page: Page, outcome: Call) -> Outcome:
    before = page.text[: outcome.start]
    start = markup_start(before, page.tools)
    if start is not None and not only_markup(before, start, len(before), page.tools):
        leaked = marked_calls(before, page.tools)
        if not isinstance(leaked, Leaked) or not _same(leaked, outcome.request):
            return Bad("The reply holds two tool calls, one of them in markup of its own. Write one, without markup.")
    return _input_without_markup(page, outcome)


def _same(leaked: Leaked, request: ToolRequest) -> bool:
    first = leaked.calls[0]
    return first.tool == request.tool and first.args == request.args


def _input_without_markup(page: Page, outcome: Call) -> Outcome:
    """Reads a text input that is a call in markup as that call; a program may hold markup in its strings."""
    text = outcome.request.args
    start = markup_start(text, page.tools) if isinstance(text, str) else None
    if not isinstance(text, str) or start is None:
        return outcome
    if start and any(tool.name == outcome.request.tool and tool.code_language for tool in page.tools):
        return outcome
    leaked = marked_calls(text, page.tools)
    if isinstance(leaked, Leaked) and not leaked.thought and leaked.calls[0].tool == outcome.request.tool:
        return replace(_leaked(leaked), start=outcome.start, end=outcome.end)
    return Bad("The input holds a tool call in markup of its own. Write the input alone, without markup.")


def said(page: Page, label: Label) -> Outcome:
    """Reads the answer that follows an answer label, up to its end or an invented new turn."""
    end, turn = answer_end(page, label)
    text = page.text[label.end : end]
    text = close_bold(text) if label.bold_open else text
    again = _labelled_again(page, label)
    if again is not None:
        return said(page, again)
    text = text.rstrip().removesuffix("\n```") if text.count("```") == 1 else text
    text = trim_tokens(without_residue(text) if end == len(page.text) else without_rule(text))
    if not text:
        return Bad("The answer is empty.")
    if turn is not None and (reason := _contradiction(page, turn, text)):
        return Bad(reason)
    return Said(text, label.start, end, turn)


def _labelled_again(page: Page, label: Label) -> Label | None:
    """Returns a second answer label directly after the first (`Answer:` / `Final Answer: …`)."""
    following = next(page.labels.after(label.end), None)
    if following is None or following.kind is not Kind.ANSWER or page.text[label.end : following.start].strip():
        return None
    return following


def _contradiction(page: Page, turn: Label, text: str) -> str | None:
    """Returns why an answer is invalid: an action, or another answer, follows in the same turn; else None."""
    if turn.kind is Kind.QUESTION and is_quiz(page, turn):
        return _UNCLEAR_END
    if turn.kind in (Kind.QUESTION, Kind.OBSERVATION) and is_form(page, turn, text):
        return _UNCLEAR_END
    if turn.kind in (Kind.QUESTION, Kind.SPEAKER, Kind.OBSERVATION):
        return None
    for label in [turn, *page.labels.after(turn.end)]:
        if label.kind in (Kind.QUESTION, Kind.OBSERVATION):
            return None
        if label.kind is Kind.ACTION:
            return "The reply holds an answer and an action. Write one of them."
        if label.kind is Kind.ANSWER:
            end, _ = answer_end(page, label)
            same = trim_tokens(page.text[label.end : end]) == text
            return None if same else "The reply holds two different answers. Write one."
    return None


def _walk(page: Page, grammar: Grammar) -> Outcome:
    began = False
    shown = _shown_only(page)
    for label in page.labels.found:
        if label.start < shown and within(page.fences, label.start):
            continue
        if label.kind is Kind.OBSERVATION or (began and label.kind in (Kind.QUESTION, Kind.SPEAKER)):
            invented = Bad("Observations come from the tools. Never write one yourself.")
            return _bare_before(page, label, grammar) or invented
        if label.kind is Kind.ANSWER:
            bare = _bare_before(page, label, grammar)
            return _settled(page, bare, grammar) if isinstance(bare, Call) else said(page, label)
        if label.kind is Kind.ACTION:
            outcome = grammar.action(page, label)
            if outcome is not None:
                return _settled(page, outcome, grammar)
        if label.kind is Kind.WEAK_ACTION and (found := _weak_action(page, label, grammar)):
            return _settled(page, found, grammar)
        began = began or label.kind in (Kind.THOUGHT, Kind.ACTION)
    bare = grammar.bare(page)
    if bare is not None:
        return _settled(page, bare, grammar)
    return Bad("The reply holds neither an action nor an answer.")


def _shown_only(page: Page) -> int:
    """Returns the position before which fenced labels are an example: the first unfenced action or answer label."""
    outside = (
        label.start
        for label in page.labels.found
        if label.kind in (Kind.ACTION, Kind.ANSWER) and not within(page.fences, label.start)
    )
    return next(outside, 0)


def _weak_action(page: Page, label: Label, grammar: Grammar) -> Call | None:
    """Reads `Tool: calculator` / `Input: …`: only for a known tool with its input directly after it."""
    following = next(page.labels.after(label.end), None)
    if following is None or following.kind not in (Kind.INPUT, Kind.WEAK_INPUT):
        return None
    found = grammar.action(page, label)
    known = isinstance(found, Call) and any(tool.name == found.request.tool for tool in page.tools)
    return found if isinstance(found, Call) and known else None


def _bare_before(page: Page, label: Label, grammar: Grammar) -> Outcome | None:
    """Reads an action or answer without its label, before `label`."""
    return grammar.bare(Page(page.text[: label.start].rstrip(), page.tools, page.labels, finished=True))


def _settled(page: Page, outcome: Outcome, grammar: Grammar) -> Outcome:
    """Accepts an action unless an answer follows that is not based on a result the model invented."""
    if isinstance(outcome, Said) and outcome.turn is not None:
        again = grammar.action(page, outcome.turn) if outcome.turn.kind is Kind.ACTION else None
        if isinstance(again, Said):
            return outcome if again.text == outcome.text else Bad("The reply holds two different answers. Write one.")
        reason = _contradiction(page, outcome.turn, outcome.text)
        return Bad(reason) if reason else outcome
    if not isinstance(outcome, Call):
        return outcome
    for label in page.labels.after(outcome.end):
        finishes = label.kind is Kind.ACTION and isinstance(grammar.action(page, label), Said)
        if label.kind is Kind.ANSWER or finishes:
            if claims_result(page.text[outcome.end : label.start]):
                return outcome
            return Bad(
                "The reply holds an action and an answer. Write one of them: an action, then wait for its result."
            )
        if label.kind not in (Kind.THOUGHT, Kind.INPUT, Kind.WEAK_INPUT, Kind.WEAK_ACTION):
            return outcome
    return outcome


def _parsed(page: Page, outcome: Outcome, dropped: tuple[str, ...], grammar: Grammar) -> Parsed:
    if isinstance(outcome, Bad):
        kept = page.text[:MAX_KEPT_CHARS]
        reason = f"{outcome.reason} {grammar.form}"
        return Malformed(reason, kept=kept, thought=page.thought(len(page.text)), dropped=dropped)
    rest = page.text[outcome.end :].strip(" \t\r\n`*.)]}")
    if rest:
        dropped = (*dropped, f"what followed: {rest[:200]}")
    kept = page.text[: outcome.end].strip()
    if isinstance(outcome, Call) and outcome.leaked:
        kept, dropped = "", (*dropped, MARKUP)
    thought = page.thought(outcome.start)
    if isinstance(outcome, Said):
        return Answer(outcome.text, thought=thought, kept=kept, dropped=dropped)
    return Actions((outcome.request,), thought=thought, kept=kept, dropped=dropped)
