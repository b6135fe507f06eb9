"""Starts the program in its own process, waits for it, kills what it left running, and reports with its files."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import Any

from tools.isolation.inside import lockdown, program
from tools.isolation.inside.collect import collect

_RESULT_BYTES = 256 * 1024
_POLL_S = 0.02


def supervise(config: dict[str, Any]) -> None:
    """Writes the report to `config["report"]`: a line of JSON, then the bytes of the files, in order. Never returns."""
    os.chdir(config["box"])
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_program(config, read_end, write_end)
    os.close(write_end)
    result, status = _wait(child, read_end)
    if config["contained"]:
        _end_the_rest()
    files, left_out = collect(config["box"], config["limits"])
    code = os.waitstatus_to_exitcode(status)
    report = {"exit": code, "result": result.decode("utf-8", "replace"), "left_out": left_out}
    report["files"] = [[name, len(data)] for name, data in files]
    with open(config["report"], "wb") as stream:
        stream.write(json.dumps(report).encode() + b"\n")
        for _, data in files:
            stream.write(data)
    os._exit(0)


def _be_the_program(config: dict[str, Any], read_end: int, write_end: int) -> None:
    os.close(read_end)
    os.close(config["report"])
    lockdown.only_keep({write_end})
    lockdown.die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGPIPE else signal.SIG_IGN)
    own = config["package_root"]
    sys.path[:] = [config["box"], *(path for path in sys.path if path != own), *config["libraries"], own]
    sys.argv[:] = [program.NAME]
    sys.modules.pop("tools.isolation.inside.launch", None)
    program.open_streams()
    lockdown.limit_resources(config["limits"], count_processes=config["contained"])
    if config["contained"]:
        lockdown.wall_in(config["writable"], config["devices"])
    outcome = json.dumps(program.run(config.pop("code")), ensure_ascii=False)
    _write_all(write_end, outcome.encode("utf-8", "replace"))
    os._exit(0)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _wait(child: int, read_end: int) -> tuple[bytes, int]:
    """Returns the result as written and the exit status; processes that the program left may hold the pipe open."""
    os.set_blocking(read_end, False)
    result = b""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        select.select([read_end], [], [], 0 if ended else _POLL_S)
        chunk = _read(read_end)
        while chunk:
            result = (result + chunk)[:_RESULT_BYTES]
            chunk = _read(read_end)
        if ended:
            return result, status
        if chunk == b"":
            time.sleep(0.001)  # the pipe closed before the program ended: wait for its end


def _read(descriptor: int) -> bytes | None:
    """Returns bytes, b"" at the end, None if there is nothing yet."""
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return None


def _end_the_rest() -> None:
    """Kills every other process in the namespace; the kernel spares this one and the first."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
