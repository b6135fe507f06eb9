"""Replaces the `stepmill` command in tests of the stack around it: the same arguments, no engine."""

from __future__ import annotations

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path in ("/healthz", "/v1/models") else 404)
        self.end_headers()


def main(argv: list[str]) -> None:
    mark = Path(os.environ["STEPMILL_DATA_DIR"]) / "upgraded"
    if argv == ["db", "upgrade"]:
        mark.touch()
    elif argv[0] == "worker":
        assert mark.exists(), "a worker was started before the database was upgraded"
        with redis.Redis.from_url(os.environ["STEPMILL_REDIS_URL"], retry=Retry(NoBackoff(), 0)) as client:
            client.ping()
        print(f"{argv[2]} ready", flush=True)
        signal.pause()
    else:
        assert argv[1] == "--port"
        ThreadingHTTPServer(("127.0.0.1", int(argv[2])), Answers).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
