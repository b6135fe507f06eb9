"""A user's files may have any name: ours are loaded first, and tools are found by the paths of their files."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import clean_environment
from worker.local.plan import STEPMILL

TOOL = '''
from tools.base import tool

@tool
def {name}(text: str) -> str:
    """Says it loudly."""
    return {body}
'''
FILES = {
    "tools.py": "raise SystemExit('the tools of the user')",
    "worker.py": "raise SystemExit('the worker of the user')",
    "api/__init__.py": "raise SystemExit('the API of the user')",
    "mine.py": TOOL.format(name="shout", body="twice(text.upper())") + "from helping import twice\n",
    "helping.py": "def twice(text: str) -> str:\n    return text + text\n",
    "odd/json.py": TOOL.format(name="spell", body="'-'.join(text)"),
    "uses_tools.py": "import tools\n" + TOOL.format(name="own", body="tools.own(text)"),
    "uses_worker.py": "import os\nfrom worker import jobs\n",
    "uses_api.py": "import neighbour\n",
    "neighbour.py": "import api.routes\n",
    "odd/uses_json.py": "import json\n",
    "uses_base.py": "import tools.base as base\nfrom tools import base as again\n" + TOOL.format(name="b", body="text"),
    "broken.py": "x = 1\n\nx / 0\n",
    "breaks_below.py": "import broken\n",
    "wrong.py": "def (:\n",
    "leaves.py": "import asyncio\nraise asyncio.CancelledError\n",
    "notes.txt": "not Python",
    "kit/mine.py": TOOL.format(name="other", body="text"),
    "set/one.py": TOOL.format(name="one", body="helped(text)") + "from _help import helped\n",
    "set/two.py": TOOL.format(name="two", body="text"),
    "set/plain.py": "x = 1\n",
    "set/_help.py": "helped = str.title\n",
    "set/test_one.py": "1 / 0\n",
    "bare/x.txt": "",
    "package/__init__.py": "from . import first\nfrom package import deep\nimport helping\n",
    "package/first.py": TOOL.format(name="first", body="text"),
    "package/deep/__init__.py": "from . import second\n",
    "package/deep/second.py": TOOL.format(name="second", body="text"),
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def stepmill(directory: Path, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = clean_environment() | variables
    return subprocess.run([*STEPMILL, *args], cwd=directory, env=env, capture_output=True, text=True, timeout=60)


def own_tools(directory: Path, entries: str, **variables: str) -> tuple[list[str], list[str]]:
    """The names of the tools that are not built in, and what was refused."""
    done = stepmill(directory, "tools", "--json", STEPMILL_TOOL_MODULES=entries, **variables)
    assert done.returncode == 0, done.stderr
    listed: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    names = [item["name"] for item in listed["items"] if not item["origin"].startswith("tools.")]
    return names, [problem["reason"] for problem in listed["problems"]]


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ("./mine.py", ["shout"]),
        ("mine.py", ["shout"]),
        ("mine", ["shout"]),
        ("{here}/mine.py, ./uses_base.py", ["shout", "b"]),
        ("odd/json.py", ["spell"]),
        ("./set", ["one", "two"]),
        ("set/", ["one", "two"]),
        ("./package", ["first", "second"]),
        ("package", ["first", "second"]),
    ],
)
def test_tools_are_named_by_path_or_name_from_where_the_command_is_run(
    files: Path, entries: str, names: list[str]
) -> None:
    assert own_tools(files, entries.format(here=files)) == (names, [])


@pytest.mark.parametrize("entries", ["mine", "./mine.py"])
def test_files_of_our_names_on_the_path_of_python_are_in_nobodys_way(files: Path, entries: str) -> None:
    assert own_tools(files, entries, PYTHONPATH=str(files)) == (["shout"], [])
    done = stepmill(files, "celery", "--app=worker.celery_app:app", "report", PYTHONPATH=str(files))
    assert done.returncode == 0, done.stderr
    assert "celery:5" in done.stdout


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ("./uses_tools.py", "uses_tools.py, line 1, imports `tools`, and here that name is stepmill's own: rename "),
        ("./uses_worker.py", "uses_worker.py, line 2, imports `worker`, and here that name is stepmill's own: rename "),
        ("./uses_api.py", "neighbour.py, line 1, imports `api`, and here that name is stepmill's own: rename "),
        ("uses_api", "neighbour.py, line 1, imports `api`, and here that name is stepmill's own: rename "),
        ("odd/uses_json.py", "uses_json.py, line 1, imports `json`, and here that name is that of "),
        ("tools", "`tools` is stepmill's own package; name your file by its path, such as ./tools.py"),
        ("./broken.py", "ZeroDivisionError: division by zero (broken.py, line 3)"),
        ("./breaks_below.py", "ZeroDivisionError: division by zero (broken.py, line 3)"),
        ("./wrong.py", "SyntaxError: invalid syntax (wrong.py, line 1)"),
        ("./leaves.py", "CancelledError (leaves.py, line 2)"),
        ("./notes.txt", "is not a Python file; its name must end in .py"),
        ("./missing.py", "there is no file or directory {here}/missing.py"),
        ("missing", "ModuleNotFoundError: No module named 'missing'"),
        ("./bare", "the directory {here}/bare has no Python files"),
        ("bare", "`bare` has no __init__.py; name the directory by its path, such as ./bare"),
        ("./helping.py", "it has no tools; decorate a function with @tool from tools.base"),
        ("./mine.py,./kit/mine.py", "{here}/kit/mine.py and {here}/mine.py have the same name; rename one of them"),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_the_reason_and_the_remedy(
    files: Path, entries: str, reason: str
) -> None:
    _, reasons = own_tools(files, entries)
    assert len(reasons) == 1
    assert reason.format(here=files) in reasons[0]


def test_a_users_package_of_our_name_elsewhere_on_the_path_is_named_as_the_cause(files: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "tools").mkdir(parents=True)
    (elsewhere / "tools" / "__init__.py").write_text("")
    (elsewhere / "tools" / "greeting.py").write_text("x = 1\n")
    (elsewhere / "caller.py").write_text("import tools.greeting\n")
    (tmp_path / "kit" / "far.py").write_text("from tools.greeting import x\n")
    (tmp_path / "kit" / "farther.py").write_text("from tools import greeting\n")
    for name in ("far", "farther"):
        _, reasons = own_tools(files, f"kit/{name}.py", PYTHONPATH=str(elsewhere))
        assert "`tools` is stepmill's own package here: rename yours" in reasons[0]
        assert f"({name}.py, line 1)" in reasons[0]


def test_the_installed_command_starts_the_same_way() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"stepmill": "stepmill.__main__:main"}
    assert "stepmill*" in project["tool"]["setuptools"]["packages"]["find"]["include"]


@pytest.mark.slow
def test_a_whole_stack_runs_beside_files_of_our_names(files: Path) -> None:
    (files / "agents.toml").write_text('[agents.desk]\ntools = ["shout"]\ninstructions = "Be loud."\n')
    question = "Use shout(text='hi') and tell me."
    variables = {"STEPMILL_TOOL_MODULES": "./mine.py", "STEPMILL_AGENTS_FILE": "agents.toml", "PYTHONPATH": str(files)}
    env = clean_environment() | variables
    argv = [*STEPMILL, "ask", "--agent", "desk", "--json", question]
    done = subprocess.run(argv, cwd=files, env=env, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] == "HIHI"
