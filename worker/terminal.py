"""The edge to the terminal: text of models, tools, files and the web cannot steer it."""

from __future__ import annotations

import re
from typing import IO, Any

import click

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
"""Controls (escape sequences begin with one), separators of lines, what turns the order of writing, halves of
surrogate pairs, invisible tags."""


def safe(text: object) -> str:
    """The text with what a terminal would obey, or show as something else, written out: `\\x1b`, `\\u202e`.

    Line breaks and tabs stay; a carriage return before a line break is dropped.
    """
    return _OBEYED.sub(_written_out, str(text).replace("\r\n", "\n"))


def safe_json(document: str) -> str:
    """The same JSON document, in which those characters are escapes as JSON has them."""
    return _OBEYED.sub(_as_json, document)


def echo(
    text: object = "", *, label: str = "", err: bool = False, nl: bool = True, file: IO[Any] | None = None, **style: Any
) -> None:
    """Prints a line; `style` is that of `click.style`, for the label alone where there is one."""
    head = click.style(label, **style) if label else ""
    body = safe(text) if label else click.style(safe(text), **style)
    click.echo(head + body, err=err, nl=nl, file=file)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _as_json(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
