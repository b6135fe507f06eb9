"""A real browser without a window: what a page holds once its scripts have run."""

from __future__ import annotations

import re
import subprocess
from html import unescape
from pathlib import Path

from tests.services.needs import program

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--log-level=3",
)  # fmt: skip


class Browser:
    """Opens each page in a fresh process with an empty profile below `directory`."""

    def __init__(self, directory: Path) -> None:
        self._command = program("chromium", "chromium-browser", "google-chrome", package="chromium")
        self._directory = directory
        self._opened = 0

    def html(self, url: str, patience_ms: int = 4_000) -> str:
        """The page after its scripts had `patience_ms` of their own time."""
        self._opened += 1
        profile = f"--user-data-dir={self._directory / f'profile-{self._opened}'}"
        budget = f"--virtual-time-budget={patience_ms}"
        command = [self._command, *QUIET, profile, budget, "--dump-dom", url]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    def text(self, url: str) -> str:
        """The words of the page."""
        body = re.sub(r"<(script|style)\b.*?</\1>", " ", self.html(url), flags=re.DOTALL)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())
