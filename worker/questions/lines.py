"""Cuts a stream of bytes into lines, however the chunks fall, without ever holding more than one long line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from worker.core.errors import UserError

BOM = b"\xef\xbb\xbf"
_FOREIGN = (b"\xff\xfe", b"\xfe\xff", b"\x00")


class TooLong(bytes):
    """Stands for a line over the limit; its own content is dropped."""


def split_lines(chunks: Iterable[bytes], max_line_bytes: int) -> Iterator[bytes]:
    """The lines with their line endings, as `io` would give them in binary mode; `TooLong` for each over the limit.

    Raises `UserError` for a file that is plainly in another encoding than UTF-8.
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
    """What to tell somebody whose line is in another encoding."""
    return f"is not UTF-8 (byte 0x{error.object[error.start]:02x} at byte {error.start + 1}); save the file as UTF-8"
