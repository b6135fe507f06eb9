"""Starts an isolated program from the worker and reads its outcome, trusting nothing that it says."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.isolation.limits import ResourceLimits
from tools.isolation.view import BOX, DEVICES, PACKAGE_ROOT, WRITABLE, host_view
from tools.kit.children import Sink, TreeLimits, ended, watch

_FAILED = 97
_REPORT_HEADER_BYTES = 512 * 1024
_START = "import sys; sys.path.insert(0, {root!r}); from tools.isolation.inside.launch import main; main()"
_ENVIRONMENT = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "module://tools.isolation.inside.figures",
    "MPLCONFIGDIR": "/tmp/matplotlib",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/bin:/bin",
    "TZ": "UTC",
}
"""A program's whole environment."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to run, the isolation to use, and its limits."""

    mechanism: str
    code: str
    limits: ResourceLimits
    command_prefix: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A program's outcome. `finished`: it ran to its end, or to an error that Python raised.

    `stopped` says why the worker ended it; `failure` why isolation could not be set up.
    """

    output: str = ""
    output_dropped_bytes: int = 0
    value: str | None = None
    error: str | None = None
    exit_code: int | None = None
    finished: bool = False
    files: tuple[tuple[str, bytes], ...] = ()
    files_left_out: tuple[str, ...] = ()
    stopped: str | None = None
    failure: str | None = None


def run_isolated(launch: Launch, stopped: Callable[[], str | None]) -> Outcome:
    """Runs the program until it ends, `stopped` returns a reason, or a limit is exceeded; then leaves nothing of it."""
    with tempfile.TemporaryDirectory(prefix="stepmill-box-") as directory:
        read_end, write_end = os.pipe()
        try:
            child = _start(launch, Path(directory), write_end)
        except OSError as error:
            os.close(read_end)
            return Outcome(failure=str(error))
        finally:
            os.close(write_end)
        limits = launch.limits
        output, report = Sink(limits.output), Sink(limits.files_size + _REPORT_HEADER_BYTES)
        try:
            with ended(child):
                assert child.stdout is not None
                sinks = {child.stdout.fileno(): output, read_end: report}
                tree = TreeLimits(limits.time_s, limits.tree_memory, limits.processes + 4)
                reason = watch(child, sinks, tree, stopped)
        finally:
            os.close(read_end)
    text = output.data.decode("utf-8", "replace")
    if child.returncode == _FAILED and not report.data:
        return Outcome(failure=text.strip() or "it did not start", stopped=reason)
    return _outcome(text, output.dropped_bytes, bytes(report.data), reason)


def _start(launch: Launch, directory: Path, report: int) -> subprocess.Popen[bytes]:
    view = host_view()
    bare = launch.mechanism == "none"
    command = [*launch.command_prefix, view.python, "-I", "-S", "-X", "utf8", "-c", _START.format(root=PACKAGE_ROOT)]
    environment = dict(_ENVIRONMENT) | (
        {"HOME": str(directory), "MPLCONFIGDIR": f"{directory}/.matplotlib"} if bare else {}
    )
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=directory if bare else "/",
        pass_fds=(report,),
        start_new_session=True,
    )
    _send(child, json.dumps(_config(launch, str(directory), report)).encode())
    return child


def _send(child: subprocess.Popen[bytes], data: bytes) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(data)
        child.stdin.close()
    except BrokenPipeError:
        return  # it ended before reading; its exit code and output say why


def _config(launch: Launch, directory: str, report: int) -> dict[str, Any]:
    view = host_view()
    bare = launch.mechanism == "none"
    return {
        "mode": launch.mechanism,
        "contained": not bare,
        "root": directory,
        "box": directory if bare else BOX,
        "read_only": view.read_only,
        "links": view.links,
        "devices": DEVICES,
        "writable": WRITABLE,
        "libraries": view.library_paths,
        "package_root": PACKAGE_ROOT,
        "limits": launch.limits.as_json(),
        "report": report,
        "code": launch.code,
    }


def _outcome(output: str, dropped_bytes: int, report: bytes, reason: str | None) -> Outcome:
    header, _, body = report.partition(b"\n")
    said = _object(header)
    result = _object(str(said.get("result", "")).encode())
    files = _files(said.get("files"), body)
    exit_code = said.get("exit")
    return Outcome(
        output=output,
        output_dropped_bytes=dropped_bytes,
        value=_text(result.get("value")),
        error=_text(result.get("error")),
        finished="value" in result,
        exit_code=exit_code if isinstance(exit_code, int) else None,
        files=files,
        files_left_out=tuple(str(name) for name in said.get("left_out") or ()),
        stopped=reason,
    )


def _object(data: bytes) -> dict[str, Any]:
    """Parses a JSON object; {} for anything else, since the program may have written there itself."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _files(listed: object, body: bytes) -> tuple[tuple[str, bytes], ...]:
    found: list[tuple[str, bytes]] = []
    offset = 0
    for name, size in listed if isinstance(listed, list) else []:
        found.append((str(name), body[offset : offset + size]))
        offset += size
    return tuple(found)
