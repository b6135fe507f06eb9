"""Files within the allowed directories can be read and listed; nothing outside can."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.tools.escapes import FILE_ESCAPES
from tools.base import ToolContext, ToolError
from tools.list_files import list_files
from tools.read_file import read_file

SECRET = "the host's secret"


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """An opened directory, with traps in it and secrets around it."""
    directory = tmp_path / "docs"
    (directory / "inner").mkdir(parents=True)
    (tmp_path / "docs-private").mkdir()
    for place in (tmp_path, tmp_path / "docs-private"):
        (place / "secret.txt").write_text(SECRET)
    (directory / "plain.txt").write_text("first\nsecond\n")
    (directory / "link.txt").symlink_to(tmp_path / "secret.txt")
    (directory / "linked").symlink_to(tmp_path)
    (directory / "inner" / "back").symlink_to("../..")
    (directory / "self").symlink_to("/proc/self")
    (directory / "zero").symlink_to("/dev/zero")
    os.mkfifo(directory / "pipe")
    return directory


def context(*directories: Path) -> ToolContext:
    return ToolContext(settings={"STEPMILL_FILES_DIRS": os.pathsep.join(map(str, directories))})


def test_a_file_is_read_by_its_path_from_the_top(inside: Path) -> None:
    assert read_file.call({"path": "plain.txt"}, context(inside)).observation == "first\nsecond\n"
    assert read_file.call({"path": f"{inside}/./plain.txt"}, context(inside)).observation == "first\nsecond\n"
    assert read_file.call({"path": "plain.txt", "start_line": 2}, context(inside)).observation == "second\n"


def test_a_long_file_comes_in_parts_that_join_without_a_gap(inside: Path) -> None:
    text = "".join(f"line {number} {'x' * 60}\n" for number in range(1, 500))
    (inside / "long.txt").write_text("\ufeff" + text, encoding="utf-8")
    parts: list[str] = []
    start = 1
    while start:
        said = read_file.call({"path": "long.txt", "start_line": start}, context(inside)).observation
        body, _, more = said.partition("[… the file goes on; read on with start_line=")
        parts.append(body)
        start = int(more.rstrip("]")) if more else 0
    assert "".join(parts) == text
    assert len(parts) > 4


def test_what_is_no_text_is_told_and_not_shown(inside: Path) -> None:
    (inside / "image.png").write_bytes(b"\x89PNG\0\0")
    (inside / "empty.txt").write_text("")
    (inside / "wide.txt").write_text("w" * 200_000 + "\nend\n")
    (inside / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ToolError, match="is not text"):
        read_file.call({"path": "image.png"}, context(inside))
    assert read_file.call({"path": "empty.txt"}, context(inside)).observation == "(The file is empty.)"
    wide = read_file.call({"path": "wide.txt"}, context(inside)).observation
    assert "line 1 is cut" in wide
    assert "start_line=2]" in wide
    assert len(wide) < 8_000
    assert read_file.call({"path": "wide.txt", "start_line": 2}, context(inside)).observation == "end\n"
    assert read_file.call({"path": "latin.txt"}, context(inside)).observation == "caf\ufffd"
    with pytest.raises(ToolError, match="there is no line 9"):
        read_file.call({"path": "plain.txt", "start_line": 9}, context(inside))


def test_an_endless_line_and_a_growing_file_are_read_within_the_deadline(inside: Path) -> None:
    with (inside / "endless.txt").open("wb") as stream:
        stream.write(b"x" * 100_000)
        stream.truncate(200 * 2**30)  # zeroes without an end, and no newline
    settings = {"STEPMILL_FILES_DIRS": str(inside)}
    started = time.monotonic()
    first = read_file.call({"path": "endless.txt"}, ToolContext(settings=settings, deadline=started + 1)).observation
    assert "line 1 is cut" in first
    with pytest.raises(ToolError, match="stopped: out of time"):
        read_file.call({"path": "endless.txt", "start_line": 2}, ToolContext(settings=settings, deadline=started + 1))
    with pytest.raises(ToolError, match="stopped: cancelled"):
        read_file.call({"path": "endless.txt", "start_line": 2}, ToolContext(settings=settings, cancelled=lambda: True))
    assert time.monotonic() - started < 10
    grown = threading.Event()

    def grow() -> None:
        with (inside / "growing.txt").open("ab", buffering=0) as stream:
            while not grown.is_set():
                stream.write(b"\n" * 65536)

    (inside / "growing.txt").write_text("first\n")
    grower = threading.Thread(target=grow)
    grower.start()
    context = ToolContext(settings=settings, deadline=time.monotonic() + 0.5)
    with pytest.raises(ToolError, match=r"stopped: out of time|there is no line"):
        read_file.call({"path": "growing.txt", "start_line": 10**9}, context)
    grown.set()
    grower.join()


def test_a_directory_is_listed_with_sizes_and_links_are_named_as_such(inside: Path) -> None:
    said = list_files.call({}, context(inside)).observation
    assert "inner/" in said
    assert "plain.txt (13 bytes, 20" in said
    assert "link.txt (a link, not followed)" in said
    assert "pipe (no ordinary file)" in said
    assert list_files.call({"path": "inner"}, context(inside)).observation == "back (a link, not followed)"


def test_several_directories_are_told_apart_by_name(inside: Path, tmp_path: Path) -> None:
    both = context(inside, tmp_path / "docs-private")
    assert "docs, docs-private" in list_files.call({}, both).observation
    assert read_file.call({"path": "docs/plain.txt"}, both).observation.startswith("first")
    with pytest.raises(ToolError, match="Begin the path with one of"):
        read_file.call({"path": "plain.txt"}, both)
    with pytest.raises(ToolError, match="STEPMILL_FILES_DIRS"):
        read_file.call({"path": "plain.txt"}, ToolContext(settings={}))


@pytest.mark.parametrize("escape", FILE_ESCAPES)
def test_a_way_out_is_held(escape: str, inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(inside)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        path = FILE_ESCAPES[escape].format(outside=tmp_path, inside=inside, long="x" * 9000)
        for tool in (read_file, list_files):
            if (escape, tool) == ("reads a directory", list_files):
                continue
            with pytest.raises(ToolError) as caught:
                tool.call({"path": path}, context(inside))
            assert SECRET not in caught.value.message


def test_a_file_that_is_swapped_for_a_link_while_it_is_opened_is_never_followed(inside: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    (inside / "real").mkdir()
    (inside / "real" / "secret.txt").write_text("harmless")

    def swap() -> None:
        while not stop.is_set():
            (inside / "real").rename(inside / "aside")
            (inside / "real").symlink_to(tmp_path)
            (inside / "real").unlink()
            (inside / "aside").rename(inside / "real")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    for _ in range(1500):
        try:
            seen.add(read_file.call({"path": "real/secret.txt"}, context(inside)).observation)
        except ToolError:
            seen.add("refused")
    stop.set()
    swapper.join()
    assert SECRET not in seen
    assert seen <= {"harmless", "refused"}
