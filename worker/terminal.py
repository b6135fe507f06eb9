"""Output to the terminal: text from models, tools, files and the web cannot control it."""

from __future__ import annotations

import re
from typing import IO, Any

import click

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
"""Control characters (including escape), line separators, direction controls, lone surrogates and invisible tags."""


def safe(text: object) -> str:
    """Returns the text with characters that control or mislead a terminal written as escapes: `\\x1b`, `\\u202e`.

    Line breaks and tabs stay; a carriage return before a line break is removed.
    """
    return _OBEYED.sub(_written_out, str(text).replace("\r\n", "\n"))


def safe_json(document: str) -> str:
    """Returns the same JSON document with these characters as JSON escapes."""
    return _OBEYED.sub(_as_json, document)


def echo(
    text: object = "", *, label: str = "", err: bool = False, nl: bool = True, file: IO[Any] | None = None, **style: Any
) -> None:
    """Prints a line. `style` is that of `click.style` and applies only to the label if there is one."""
    head = click.style(label, **style) if label else ""
    body = safe(text) if label else click.style(safe(text), **style)
    click.echo(head + body, err=err, nl=nl, file=file)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _as_json(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
