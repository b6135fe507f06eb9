"""Generated requests: everything that the schema allows, and much that it does not."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.services.process import free_port
from tests.services.waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(2_400)]

KEY = "s3cret-key"
EXAMPLES = 100
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "negative_data_rejection", "unsupported_method", "ignored_auth",
)  # fmt: skip

SET_UP = """
hooks = "lines.py"

[[operations]]
include-operation-id = ["follow_run", "follow_batch"]
parameters = { follow = false }
"""
"""A stream that is followed ends by a time-out alone, of which hundreds would take the hour."""
LINES = """
import schemathesis

@schemathesis.serializer("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
def lines(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
"""
"""Bodies of these types are texts, which the machine does not know."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of an environment of their own are: what they depend on must not decide our versions."""
    where = tmp_path_factory.mktemp("machine")
    venv.create(where, with_pip=True)
    wanted = ["schemathesis>=4.32", "openapi-spec-validator>=0.9", "openapi-python-client>=0.29"]
    subprocess.run([where / "bin" / "pip", "install", "--quiet", *wanted], check=True, timeout=600)
    return where / "bin"


@pytest.fixture
def address(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[str]:
    """The API as `serve` runs it, with a key."""
    port = free_port()
    env = {
        **os.environ, "STEPMILL_DATABASE_URL": database_url, "STEPMILL_REDIS_URL": redis_url,
        "STEPMILL_DATA_DIR": str(tmp_path), "STEPMILL_ADMIN_KEY": KEY, "STEPMILL_MODEL": "",
    }  # fmt: skip
    subprocess.run([sys.executable, "-m", "stepmill", "db", "upgrade"], env=env, check=True, timeout=120)
    with (tmp_path / "api.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "stepmill", "serve", "--port", str(port)], env=env, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    wait_until("the API answers", lambda: _answers(url), 60)
    yield url
    process.terminate()
    process.wait(30)
    assert b"Traceback" not in (tmp_path / "api.log").read_bytes()


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def test_nothing_that_is_sent_breaks_the_api_or_is_answered_as_the_schema_does_not_say(
    address: str, programs: Path, tmp_path: Path
) -> None:
    (tmp_path / "schemathesis.toml").write_text(SET_UP)
    (tmp_path / "lines.py").write_text(LINES)
    command = [
        str(programs / "schemathesis"), "run", f"{address}/openapi.json", "--header", f"Authorization: Bearer {KEY}",
        "--max-examples", str(EXAMPLES), "--checks", ",".join(CHECKS), "--no-color",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=2_000)
    assert done.returncode == 0, done.stdout[-20_000:]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_schema_is_valid_and_a_client_is_generated_from_it(address: str, programs: Path, tmp_path: Path) -> None:
    document = tmp_path / "openapi.json"
    document.write_bytes(httpx2.get(f"{address}/openapi.json").content)
    subprocess.run([programs / "openapi-spec-validator", document], check=True, timeout=120)
    client = [str(programs / "openapi-python-client"), "generate", "--path", str(document), "--meta", "none"]
    subprocess.run([*client, "--output-path", str(tmp_path / "client")], check=True, timeout=120)
    script = (
        "from client import AuthenticatedClient\n"
        "from client.api.runs import ask, get_run\n"
        "from client.models import GivenRun\n"
        f"client = AuthenticatedClient(base_url={address!r}, token={KEY!r})\n"
        "asked = ask.sync(client=client, body=GivenRun(question='What is 2 + 2?'))\n"
        "print(get_run.sync(asked.run_id, client=client).question)\n"
    )
    said = subprocess.run([programs / "python", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert said.stdout == "What is 2 + 2?\n", said.stderr
