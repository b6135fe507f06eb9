"""Compose services as plain processes: their exact command and environment, with other hosts and ports."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.compose import services, variables_of
from tests.services.process import ServerProcess, free_port
from tests.services.waiting import wait_until

BIN = Path(sys.executable).parent


@dataclass
class Servers:
    """What stands in for the containers. `moved` maps addresses inside the compose network to those used here."""

    directory: Path
    variables: Mapping[str, str]
    moved: dict[str, str]
    running: dict[str, ServerProcess] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.services = services(self.variables)
        self.ports = {"8321": str(free_port()), "5555": str(free_port()), "8100": str(free_port())}
        self.moved |= {
            "http://practice:8100": f"http://127.0.0.1:{self.ports['8100']}",
            "http://127.0.0.1:8321": f"http://127.0.0.1:{self.ports['8321']}",
            "http://127.0.0.1:5555": f"http://127.0.0.1:{self.ports['5555']}",
            "http://127.0.0.1:8100": f"http://127.0.0.1:{self.ports['8100']}",
            "/opt/stepmill/flowerconfig.py": str(Path(__file__).resolve().parents[2] / "worker" / "flowerconfig.py"),
            "--port=5555": f"--port={self.ports['5555']}",
        }

    def start(self, name: str) -> None:
        log = self.directory / f"{name}.log"
        self.running[name] = ServerProcess(self.command(name, self.services[name]["command"]), log, grace_s=15)

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        """A service that ends by itself."""
        return subprocess.run(self.command(name, self.services[name]["command"]), capture_output=True, text=True)

    def wait_until_healthy(self, name: str, timeout_s: float) -> None:
        wait_until(f"{name} is healthy by its own check", lambda: self.is_healthy(name), timeout_s)

    def is_healthy(self, name: str) -> bool:
        """What the service's own health check says."""
        if not self.running[name].is_running():
            raise AssertionError(f"{name} ended:\n{self.running[name].output()}")
        test = self.services[name]["healthcheck"]["test"]
        argv = test[1:] if test[0] == "CMD" else ["sh", "-c", test[1]]
        return subprocess.run(self.command(name, argv), capture_output=True).returncode == 0

    def command(self, name: str, argv: list[str]) -> list[str]:
        """`argv` in the environment of a service, and in none other."""
        own = self.directory / name
        own.mkdir(exist_ok=True)
        env = {"PATH": f"{BIN}:{os.defpath}", "HOME": str(own), "TMPDIR": str(own), "PYTHONPATH": self._own_tools()}
        env |= {"STEPMILL_DATA_DIR": str(self.directory / "data")}
        env |= {key: self._moved(value) for key, value in variables_of(self.services[name], self.variables).items()}
        pairs = [f"{key}={value}" for key, value in env.items()]
        return ["env", "--ignore-environment", f"--chdir={own}", *pairs, *map(self._part, argv)]

    def stop(self) -> None:
        """Ends everything that runs: all are told at once, and each takes its time."""
        for process in self.running.values():
            assert process.process.stdin is not None
            process.process.stdin.close()
        for process in self.running.values():
            process.process.wait(timeout=30)

    def _own_tools(self) -> str:
        return str(self.directory / "own")

    def _part(self, text: str) -> str:
        return self._moved(self.ports.get(text, text))

    def _moved(self, text: str) -> str:
        for here, there in self.moved.items():
            text = text.replace(here, there)
        return text
