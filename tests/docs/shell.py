"""Runs the commands of a page in one shell, as a reader who types them would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

BIN = Path(sys.executable).parent
API = "from pathlib import Path; from worker.local.state import running_stack; " + (
    "print(running_stack(Path('.stepmill')).addresses['API'])"
)
NEWEST = "import json, sys, urllib.request; " + (
    "print(json.load(urllib.request.urlopen(sys.argv[1] + '?limit=1'))['items'][0][sys.argv[2]])"
)
PRELUDE = f"""
set -euo pipefail
api() {{ python -c "{API}"; }}
newest() {{ python -c "{NEWEST}" "$(api)/api/$1" "$2"; }}
trap 'stepmill down > /dev/null' EXIT
PS4='+ $SECONDS s: '
set -x
"""
IDS = {"BATCH_ID": '"$(newest batches batch_id)"', "RUN_ID": '"$(newest runs run_id)"'}
ANY_PORTS = {
    "stepmill up --detach": "stepmill up --detach --port 0 --flower-port 0",
    "http://127.0.0.1:8321": '"$(api)"',
}
ELSEWHERE = ("make ", "docker ", "cp .env.example", ". .venv/bin/activate", "stepmill worker ", "stepmill serve ")
"""What a test cannot run as it stands; other tests look at these lines."""


def run_commands(
    lines: Sequence[str], directory: Path, replaced: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs all lines but those of `ELSEWHERE`, stopping at the first that fails; ids stand for the newest ones."""
    script = "\n".join(line for line in lines if not line.startswith(ELSEWHERE))
    for told, meant in {**IDS, **ANY_PORTS, **(replaced or {})}.items():
        script = script.replace(told, meant)
    env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(directory), "LANG": "C.UTF-8"}
    env["STEPMILL_WEATHER_OFFLINE"] = "1"
    argv = ["bash", "-c", PRELUDE + script]
    return subprocess.run(argv, cwd=directory, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
