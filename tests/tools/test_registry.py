"""What is loaded, what is refused and why, and that loading is cheap."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tools import registry
from tools.registry import load_tools

GOOD = '''
from tools.base import tool

@tool(group="mine")
def shout(text: str) -> str:
    """Shouts."""
    return text.upper()
'''
MODULES = {
    "own_good": GOOD,
    "own_again": "from own_good import shout\n",
    "own_clash": GOOD.replace("def shout", "def Calculator"),
    "own_untyped": GOOD.replace("text: str", "text"),
    "own_broken": "1 / 0\n",
    "own_exits": "raise SystemExit(3)\n",
    "own_syntax": "def (:\n",
    "own_empty": "x = 1\n",
}


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_built_in_tools_load_without_problems() -> None:
    loaded = load_tools()
    assert loaded.problems == []
    assert {"calculator", "web_search"} <= set(loaded.tools), "each file beside the machinery is a tool"
    assert not {"base", "registry"} & set(loaded.tools)
    assert "calculator" in [tool.name for tool in loaded.groups()["local"]]


@pytest.mark.usefixtures("own_modules")
def test_a_broken_module_is_reported_and_does_not_stop_the_others() -> None:
    loaded = load_tools([*MODULES, "own_missing"])
    assert loaded.tools["shout"].origin == "own_good:shout"
    reasons = {problem.module: problem.reason for problem in loaded.problems}
    assert reasons.keys() == MODULES.keys() - {"own_good", "own_again"} | {"own_missing"}
    assert "clashes with tools.calculator:calculator" in reasons["own_clash"]
    assert reasons["own_untyped"].startswith("tool shout: parameter `text` has no type")
    assert reasons["own_broken"] == "ZeroDivisionError: division by zero (own_broken.py, line 1)"
    assert reasons["own_exits"] == "SystemExit: exit code 3 (own_exits.py, line 1)"
    assert reasons["own_syntax"].startswith("SyntaxError")
    assert "has no tools" in reasons["own_empty"]
    assert "No module named" in reasons["own_missing"]


@pytest.mark.usefixtures("own_modules")
def test_entry_points_name_a_module_or_one_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("a", "own_good", registry.ENTRY_POINTS),
        EntryPoint("b", "own_good:shout", registry.ENTRY_POINTS),
        EntryPoint("c", "own_broken", registry.ENTRY_POINTS),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **_: points)
    loaded = load_tools()
    assert "shout" in loaded.tools
    assert [(problem.module, problem.reason) for problem in loaded.problems] == [
        ("c = own_broken", "ZeroDivisionError: division by zero (own_broken.py, line 1)")
    ]


def test_loading_imports_nothing_heavy() -> None:
    code = "import sys; from tools.registry import load_tools; load_tools(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "pydantic" in loaded
    assert not loaded & {"numpy", "pandas", "matplotlib", "trafilatura", "pypdf", "httpx2", "psycopg", "worker", "api"}
