"""Splits chunks of bytes into lines without holding more than one long line in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from worker.core.errors import UserError

BOM = b"\xef\xbb\xbf"
_FOREIGN = (b"\xff\xfe", b"\xfe\xff", b"\x00")


class TooLong(bytes):
    """Takes the place of a line over the limit, whose content is dropped."""


def split_lines(chunks: Iterable[bytes], max_line_bytes: int) -> Iterator[bytes]:
    """Yields the lines with their line endings, as binary `io` does; `TooLong` for each line over the limit.

    Raises `UserError` for a file that is clearly not UTF-8.
    """
    rest, dropping, first = b"", False, True
    for chunk in chunks:
        *whole, tail = (rest + chunk).split(b"\n")
        for line in whole:
            yield _checked(line + b"\n", max_line_bytes, first, dropping)
            dropping = first = False
        if len(tail) > max_line_bytes:
            tail, dropping = b"", True
        rest = tail
    if rest or dropping:
        yield _checked(rest, max_line_bytes, first, dropping)


def _checked(line: bytes, limit: int, first: bool, dropping: bool) -> bytes:
    if dropping or len(line) > limit:
        return TooLong()
    if not first:
        return line
    if line.startswith(_FOREIGN):
        raise UserError("The input is not UTF-8: it begins like UTF-16 or a binary file.", "Save it as UTF-8.")
    return line.removeprefix(BOM)


def not_utf8(error: UnicodeDecodeError) -> str:
    """Returns the reason for refusing a line in another encoding."""
    return f"is not UTF-8 (byte 0x{error.object[error.start]:02x} at byte {error.start + 1}); save the file as UTF-8"
