"""The commands of docs are run, and links lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from tests.docs.pages import DOCS, ROOT, blocks, commands, pages, write_files
from tests.docs.shell import ELSEWHERE, run_commands
from tests.servers.compose import services
from tests.services.needs import program
from worker.cli.stack import serve_command
from worker.cli.worker import worker_command

LINK = re.compile(r"\[[^\]]*\]\(([^)]+)\)")
ON_ONE_MACHINE = ["agents", "api", "one-machine", "operations", "tools"]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_its_heading(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        name, _, heading = target.partition("#")
        assert not target.startswith(("http:", "https:")), f"{page.name} sends readers away: {target}"
        there = page.parent / name if name else page
        assert there.exists(), f"{page.name} links to {target}"
        headings = (
            {anchor(line) for line in there.read_text().splitlines() if line.startswith("#")} if heading else set()
        )
        assert not heading or heading in headings, f"{page.name} links to {target}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_place_in_the_source_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`((?:worker|api|tools|tests)/[\w./-]*)(?:::\w+)?`", page.read_text())
    assert [place for place in named if not (ROOT / place).exists()] == []


def anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lstrip("# ").lower()).replace(" ", "-")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_commands_of_the_pages_for_one_machine_work(tmp_path: Path, own_model: str) -> None:
    """In one stack, to save time: what pages export comes first, and only the first `up` starts something."""
    for name in ON_ONE_MACHINE:
        write_files(DOCS / f"{name}.md", tmp_path)
    agents = tmp_path / "agents.toml"
    agents.write_text(agents.read_text().replace("http://127.0.0.1:8000/v1", own_model))
    lines = [line for name in ON_ONE_MACHINE for line in commands(DOCS / f"{name}.md")]
    exports = [line for line in lines if line.startswith("export ")]
    others = [line for line in lines if line not in (*exports, UP, "stepmill down")]
    assert UP in lines
    program("curl", package="curl")
    done = run_commands([*exports, UP, *others, "stepmill down"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for expected in SAID:
        assert expected in done.stdout, done.stdout + done.stderr


UP = "stepmill up --detach"
SAID = (
    "42",
    "event: end",
    '"queue"',
    "runs are queued again",
    "Order A-17 is shipped on Tuesday (asked by hand).",
    "Order A-17 is shipped on Tuesday (asked by run_",
)
"""Words of an answer, an event stream, a list, a retried batch, a tool called by hand, and one called by a model."""


@pytest.mark.slow
def test_the_commands_for_several_machines_are_understood(
    tmp_path: Path, empty_postgres_url: str, redis_url: str
) -> None:
    lines = commands(DOCS / "several-machines.md")
    replaced = {
        "postgresql://stepmill:password@db.example.com/stepmill": empty_postgres_url,
        "redis://:password@redis.example.com:6379/0": redis_url,
    }
    done = run_commands([line for line in lines if "API" not in line], tmp_path, replaced)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is ready" in done.stdout
    started = [line.split()[1:] for line in lines if line.startswith(("stepmill worker", "stepmill serve"))]
    assert len(started) == 6
    known: dict[str, click.Command] = {"worker": worker_command, "serve": serve_command}
    for name, *arguments in started:
        known[name].make_context(name, arguments)


def test_the_pages_for_servers_name_services_that_there_are() -> None:
    page = (DOCS / "several-machines.md").read_text()
    told = set(re.findall(r"`([a-z-]+)`", "".join(line.split("|")[1] for line in page.splitlines() if "|" in line)))
    assert told - {"service"} == set(services())
    assert set(re.findall(r"--scale (\S+)=", page)) <= set(services())


def test_a_tool_of_ones_own_takes_fifteen_lines() -> None:
    (tool,) = blocks(DOCS / "tools.md", "python")
    code = [line for line in tool.text.splitlines() if line.strip() and not line.startswith("#")]
    assert len(code) <= 15


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_block_is_well_formed_and_says_what_it_is(page: Path) -> None:
    for block in blocks(page):
        assert block.language in {"", "sh", "python", "toml", "yaml"}, block
        if block.language == "toml":
            assert tomllib.loads(block.text)
        if block.language == "yaml":
            assert yaml.safe_load(block.text)
        if block.language == "python":
            assert compile(block.text, str(page), "exec")


def test_nothing_is_left_out_but_containers_and_what_runs_for_ever() -> None:
    left_out = {line for page in pages() for line in commands(page) if line.startswith(ELSEWHERE)}
    assert all(line.split()[0] in {"make", "docker", "cp", ".", "stepmill"} for line in left_out)
    assert (ROOT / "Makefile").is_file()
