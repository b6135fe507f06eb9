"""Calls that leak into the text: each format, glued to prose, on its own line, after the answer label, cut off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from worker.practice.quirks.base import Asked, Quirk
from worker.practice.quirks.markup import MARKUP, Writer
from worker.practice.records import Act, Call, Completion, Say

Place = Callable[[str, str], str]
PLACES: Sequence[tuple[str, Place]] = (
    ("on a line of its own", lambda label, markup: f"I will look it up.\n\n{markup}"),
    ("glued to prose", lambda label, markup: f"Let me check that for you.{markup}"),
    ("after the answer label", lambda label, markup: f"{label}I will check it now. {markup}"),
    ("alone", lambda label, markup: markup),
    ("cut in the middle", lambda label, markup: f"I will look it up.\n{markup[: len(markup) * 3 // 5]}"),
    ("with an invented result behind it", lambda label, markup: f"{markup}\n<tool_response>\n41\n</tool_response>\n41"),
)
_LABELS = {
    "react_json": "Answer: ",
    "react_text": "Final Answer: ",
    "react_brackets": "Final Answer: ",
    "react_call": "Action: Finish[",
    "json": "",
}


def _leaks(write: Writer) -> Callable[[Asked, Completion], None]:
    def change(asked: Asked, completion: Completion) -> None:
        if isinstance(completion.intent, Act) and asked.fresh:
            _, place = asked.pick(PLACES)
            shown = completion.intent.calls if completion.form == "native" else completion.intent.calls[:1]
            markup = "\n".join(write(call) for call in shown)
            completion.message.pop("tool_calls", None)
            completion.message["content"] = place(_LABELS.get(completion.form, ""), markup)
            completion.choice["finish_reason"] = "stop"

    return change


def _explains(asked: Asked, completion: Completion) -> None:
    """Sends an answer about the markup, in backticks or in a fence: it remains an answer."""
    if not isinstance(completion.intent, Say) or completion.form == "json":
        return
    name, (owner, write) = asked.pick(tuple(MARKUP.items()))
    markup = write(Call("get_weather", {"city": "Kiel"}))
    whole = "\n" not in markup and "`" not in markup
    shown = f"`{markup}`" if whole else f"\n~~~\n{markup}\n~~~\n"
    text = str(completion.message["content"])
    end = len(text) - 1 if completion.form == "react_call" else len(text)
    completion.message["content"] = f"{text[:end]}\n\n{owner} ({name}) writes a call so: {shown}{text[end:]}"


def _leak(name: str, owner: str, write: Writer) -> Quirk:
    about = f"leaves calls in the text, in the format of {owner}"
    return Quirk(f"leak-{name}", about, samples=len(PLACES), change=_leaks(write))


QUIRKS = (
    *(_leak(name, owner, write) for name, (owner, write) in MARKUP.items()),
    Quirk("leak-explained", "explains the call format of a model in its answer", samples=len(MARKUP), change=_explains),
)
