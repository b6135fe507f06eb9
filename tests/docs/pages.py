"""Reads README and docs for tests: fenced blocks, tables and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.\w+)\n")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `file` is the name that its first line gives it, as in `# agents.toml`."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        found = _FILE.match(self.text)
        return found[1] if found else None


def pages() -> list[Path]:
    return [README, *sorted(DOCS.glob("*.md"))]


def blocks(page: Path, language: str | None = None) -> list[Block]:
    found = [Block(*match.groups()) for match in _FENCE.finditer(page.read_text())]
    return [block for block in found if language in (None, block.language)]


def write_files(page: Path, directory: Path) -> None:
    """Writes the blocks that name a file; several of one name follow one another."""
    for block in blocks(page):
        if block.file is not None:
            with (directory / block.file).open("a") as file:
                file.write(block.text)


def commands(page: Path) -> list[str]:
    """Every line of every `sh` block, comments and blank lines left out."""
    lines = "".join(block.text for block in blocks(page, "sh")).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def first_cells(page: Path, heading: str) -> list[str]:
    """What stands first in each row of the table under a heading, without the backticks."""
    section = page.read_text().partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [row.split("|")[1].strip().strip("`") for row in rows[2:]]
