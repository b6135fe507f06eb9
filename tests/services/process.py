"""A server process that ends with the test process, whatever ends that."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import worker.local.child


class ServerProcess:
    """`argv` under the supervisor's own child wrapper; its output goes to `log`."""

    def __init__(self, argv: list[str], log: Path, grace_s: float = 0.5) -> None:
        self.log = log
        wrapper = [sys.executable, "-I", "-S", worker.local.child.__file__, str(grace_s)]
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*wrapper, *argv], stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
            )

    def is_running(self) -> bool:
        return self.process.poll() is None

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> None:
        """Closes the wrapper's pipe, which ends the server and everything it started."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=20)


def free_port() -> int:
    """A loopback port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
