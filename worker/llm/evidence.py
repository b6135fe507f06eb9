"""Finds out what an error is about: normalises its codes and sentences and checks them for each subject. Pure.

An error claims a subject if its noun and what happened to it occur in the same clause or sentence: "credits" and
"used all", "prompt" and "longer than". One alone proves nothing: advice also mentions billing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from worker.llm import model_words as models
from worker.llm import size_words as sizes
from worker.llm import wordings as w
from worker.llm.errorbody import ErrorBody

Fragments = tuple[str, ...]

_URL = re.compile(r"https?://[^\s#]*")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINED = re.compile(r"(?<=[a-z])[-.](?=[a-z])")
_CLAUSE = re.compile(r"(?<!\d)[.,:]|[.,:](?!\d)|[;!?|()\[\]{}\n，。；：！？、（）]")
_SENTENCE = re.compile(r"(?<!\d)[.]|[.](?!\d)|[!?|\n，。；！？]")


def plain_words(text: str) -> str:
    """Returns the text in the form of `wordings`, without addresses: their paths mention billing and limits."""
    text = text.replace("’", "'").replace("can't", "cannot").replace("n't", " not")
    text = re.sub(r"(?<!\S)--(?=[a-z])|(?<=[`'\"(])--(?=[a-z])", "flag ", _URL.sub(" ", text))
    text = re.sub(r"'s\b|--+", " ", text)
    text = _HUMP.sub(" ", re.sub(r"[_\"'`“”‘’*]", " ", text)).lower()
    text = text.replace("input should", "value should")  # schemas call every field an input
    text = re.sub(r"\b(?:toks?|tkns?)\b", "tokens", text)
    return re.sub(r"[ \t\r]+", " ", _JOINED.sub(" ", text)).strip()


@dataclass(frozen=True, slots=True)
class Said:
    """What an error says. `codes` are its machine-readable words as sent; `message` is its sentences as plain words,
    `text` those and the codes."""

    status: int
    codes: tuple[str, ...]
    param: str
    message: str
    text: str
    clauses: tuple[str, ...]
    sentences: tuple[str, ...]

    def names(self, *subjects: Fragments) -> bool:
        """Whether the text has a word for each subject, anywhere."""
        return all(_any(subject).search(self.text) for subject in subjects)

    def claims(self, *subjects: Fragments, without: Fragments = ()) -> bool:
        """Whether one clause has a word for each subject, and none of `without`."""
        return any(_has(clause, subjects, without) for clause in self.clauses)

    def states(self, *subjects: Fragments, without: Fragments = ()) -> bool:
        """Whether one sentence has a word for each subject, and none of `without`."""
        return any(_has(sentence, subjects, without) for sentence in self.sentences)


def said_by(status: int, error: ErrorBody) -> Said:
    """Returns the evidence in an error; each code counts as a clause and a sentence of its own."""
    codes = tuple(plain_words(code) for code in error.codes)
    text = plain_words(error.said)
    return Said(
        status,
        error.codes,
        error.param,
        text,
        " | ".join((*codes, text)),
        (*codes, *_split(_CLAUSE, text)),
        (*codes, *_split(_SENTENCE, text)),
    )


def _split(separator: re.Pattern[str], text: str) -> Iterable[str]:
    return (part.strip() for part in separator.split(text) if part.strip())


def _has(text: str, subjects: tuple[Fragments, ...], without: Fragments) -> bool:
    if without and _any(without).search(text):
        return False
    return all(_any(subject).search(text) for subject in subjects)


@functools.cache
def _any(fragments: Fragments) -> re.Pattern[str]:
    """Matches Latin words whole; scripts without spaces have no word boundaries."""
    latin = [fragment for fragment in fragments if fragment[0].isascii()]
    other = [fragment for fragment in fragments if not fragment[0].isascii()]
    return re.compile("|".join([rf"(?<![a-z])(?:{'|'.join(latin)})(?![a-z])"] * bool(latin) + other))


# --- the subjects ----------------------------------------------------------------------------------------------------


def out_of_money(said: Said) -> bool:
    """Whether money is lacking, rather than a per-minute limit reached."""
    if said.claims(w.MONEY, w.LACK, without=(*w.PER_MINUTE, *w.CHARGED)):
        return True
    return said.names(w.MONEY_ALONE) and not said.names(w.PER_MINUTE)


def quota_used_up(said: Said) -> bool:
    """Whether a quota, plan or free allowance is used up, or payment is required. May still be a per-minute quota."""
    return said.claims(w.QUOTA, w.USED_UP) or said.names(w.PAY)


def of_the_day(said: Said) -> bool:
    """Whether a daily, weekly or monthly quota is used up."""
    return said.states(w.PER_DAY, w.USED_UP) or said.states(w.PER_DAY, w.RATE) or said.claims(w.QUOTA, w.PER_DAY)


def of_the_minute(said: Said) -> bool:
    return said.names(w.PER_MINUTE)


def too_fast(said: Said) -> bool:
    """Whether a limit on the rate of requests, tokens or concurrent calls was exceeded."""
    return said.names(w.RATE)


def said_too_fast(said: Said) -> bool:
    """Like `too_fast`, in sentences only: codes like `TooManyRequests` just repeat the status."""
    return bool(_any(w.RATE).search(said.message))


def one_request_too_large(said: Said) -> bool:
    """Whether this request alone exceeds a rate limit, so that waiting cannot help."""
    return said.names(sizes.ONE_REQUEST) and not said.names(w.WAIT)


def too_long(said: Said) -> bool:
    """Whether the conversation is too long, rather than one string field or the tokens per minute."""
    if said.param and not _is_text_field(said.param):
        return False
    sentences = (_any(sizes.AT_LEAST).sub(" ", _any(sizes.OUTPUT).sub(" ", sentence)) for sentence in said.sentences)
    return any(
        _has(sentence, (sizes.SIZE, sizes.TOO_BIG), (*w.PER_MINUTE, *sizes.NOT_TEXT)) and not _only_media(sentence)
        for sentence in sentences
    )


def _only_media(sentence: str) -> bool:
    """Whether only a picture or file is too large; a total of image and text tokens is about the conversation."""
    if not _any(sizes.MEDIA).search(sentence):
        return False
    return not ("tokens" in sentence and _any(sizes.TEXT_BESIDE_MEDIA).search(sentence))


def context_named(said: Said) -> bool:
    """Like `too_long`, in unambiguous words, for statuses that usually mean something else."""
    return said.states(sizes.CONTEXT, sizes.TOO_BIG, without=(*w.PER_MINUTE, *sizes.NOT_TEXT, *sizes.MEDIA))


def output_limit_named(said: Said) -> bool:
    """Whether the limit for the reply is too large; a limit that is too small is another fault."""
    return any(_output_sentences(said))


def only_output_named(said: Said) -> bool:
    """Whether the reply's limit is too large, alone or added to the prompt: lowering it may help."""
    if _any(sizes.OUTPUT).fullmatch(plain_words(said.param)):
        return True
    return any(_output_is_the_subject(sentence) for sentence in _output_sentences(said))


def _output_sentences(said: Said) -> Iterator[str]:
    for sentence in said.sentences:
        beside = _any(sizes.AT_LEAST).sub(" ", _any(sizes.OUTPUT).sub(" ", sentence))
        if _has(sentence, (sizes.OUTPUT,), (*w.PER_MINUTE, *sizes.BUDGET)) and _any(sizes.TOO_BIG).search(beside):
            yield sentence


def _output_is_the_subject(sentence: str) -> bool:
    """Whether the sentence names the reply's limit first, alone, or as part of a sum with the prompt."""
    output = _any(sizes.OUTPUT).search(sentence)
    other = _any(sizes.INPUT).search(_any(sizes.OUTPUT).sub(_blank, sentence))
    if other is None or (output and output.start() < other.start()):
        return True
    return bool(_any(sizes.TOGETHER).search(sentence))


def _blank(found: re.Match[str]) -> str:
    return "-" * len(found[0])


def _is_text_field(param: str) -> bool:
    last = re.split(r"[.\[\]]+", param.rstrip("]").rstrip("0123456789[."))[-1]
    return any(word in sizes.TEXT_FIELDS for word in plain_words(last).split())


_TOOLS_FIELD = re.compile(r"\b(?:tools|tool choice|functions) ?: ?[^.:;]*")
"""A field and, after its colon, what the error says about it."""


def no_tools(said: Said) -> bool:
    tools_param = said.param in ("tools", "tool_choice") and "support" in said.text
    of_the_field = (found[0] for sentence in said.sentences for found in _TOOLS_FIELD.finditer(sentence))
    named = tools_param or any(_has(words, (w.NO_TOOLS,), w.NAMED_TOOL) for words in of_the_field)
    return named or said.claims(w.TOOLS, w.NO_TOOLS, without=w.NAMED_TOOL)


def filtered(said: Said) -> bool:
    return said.names(w.FILTER)


def text_turned_away(said: Said) -> bool:
    """Whether the conversation's content is refused, not the sender: for statuses unrelated to a request's form."""
    return said.states(w.TEXT_PART, w.TURNED_AWAY, without=(*w.OWNER, *w.KEY, *models.MODEL_ITSELF))


def filtered_in_words(said: Said) -> bool:
    """Like `text_turned_away`, in a sentence without the account: any refusal may carry the code of missing rights."""
    return bool(_any(w.FILTER).search(said.message)) and not _any(w.OWNER).search(said.message)


def barred(said: Said) -> bool:
    """Whether the account, its region or its rights are refused."""
    barred = said.claims(w.OWNER, w.BARRED) or said.claims(w.LICENCE, w.LICENCE_FAULT)
    return barred or said.names(w.RIGHTS_ALONE)


def key_refused(said: Said) -> bool:
    return said.claims(w.KEY, w.KEY_FAULT) or said.claims(w.TOKEN_OF_ACCESS, w.TOKEN_FAULT)


def no_model(said: Said) -> bool:
    gone = said.states(models.GONE, without=models.FIELD) or said.claims(models.GONE, without=models.FIELD)
    return (
        gone
        or said.param == "model"
        or said.names(models.NO_MODEL)
        or said.states(models.RETIRED, without=w.REQUEST_PART)
    )


def field_unsupported(said: Said) -> bool:
    """Whether the model does not support a field of the request."""
    return said.claims(models.FIELD, w.UNSUPPORTED)


def no_model_by_code(said: Said) -> bool:
    """Whether a code names a missing model. Counts at any status: a gateway without a route for a name answers 503."""
    return any(_any(models.NO_MODEL).search(plain_words(code)) for code in said.codes)


def busy(said: Said) -> bool:
    return said.names(w.BUSY)


def busy_by_code(said: Said) -> bool:
    """Like `busy`, in codes only: sentences about a bad request contain such words by accident."""
    return any(_any(w.BUSY).search(plain_words(code)) for code in said.codes)


def passes(said: Said) -> bool:
    return said.names(w.PASSES)


def of_the_template(said: Said) -> bool:
    return said.names(w.TEMPLATE)


def request_refused(said: Said) -> bool:
    """Whether the error names a part of the request as wrong; "invalid request" alone names none."""
    if said.param:
        return True
    clauses = (_any(w.VAGUE).sub(" ", clause) for clause in said.sentences)
    return any(_has(clause, (w.REQUEST_PART, w.WRONG), ()) for clause in clauses)


def call_unreadable(said: Said) -> bool:
    """Whether the endpoint could not read the model's output as a tool call or as JSON."""
    return said.names(w.CALL_UNREADABLE)
