"""Ordinary programs work; what they leave becomes artifacts; each mechanism gives the same."""

from __future__ import annotations

import os
import struct
import threading
import time

import psutil
import pytest

from tools.base import MemoryArtifacts, ToolContext, ToolError
from tools.isolation import mechanism as mechanisms
from tools.python_executor import python_executor


def run(code: str, **context: object) -> str:
    return python_executor.call({"code": code}, ToolContext(**context)).observation  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("6 * 7", "42"),
        ("print('a')\n'b'", "a\nValue of the last expression: b"),
        ("x = 1", "The program ran to its end and printed nothing. Print what you want to see."),
        ("", "The program ran to its end and printed nothing. Print what you want to see."),
        ("```python\nprint(3)\n```", "3"),
        ("class A:\n    def __init__(self, n):\n        self.n = n\nsum(A(i).n for i in range(5))", "10"),
        (
            "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\n[f(i) for i in range(10)]",
            "[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]",
        ),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(3)", "P(x=3)"),
        ("if __name__ == '__main__':\n    print('main')", "main"),
        ("import sys\nsys.exit(0)", "The program ran to its end and printed nothing. Print what you want to see."),
        ("import sys\nsys.exit('bye')", "The program ended itself with sys.exit('bye')."),
        ("import numpy as np\nint(np.arange(5).sum())", "10"),
        ("import pandas as pd\nprint(pd.DataFrame({'a': [1, 2]}).a.mean())", "1.5"),
        ("from zoneinfo import ZoneInfo\nZoneInfo('Asia/Tokyo').key", "Asia/Tokyo"),
        ("import threading\nt = threading.Thread(target=lambda: print('late'))\nt.start()", "late"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(5)'], stdout=-1).stdout", r"b'5\n'"),
        ("import asyncio\nasync def f():\n    return 3\nasyncio.run(f())", "3"),
        ("import multiprocessing\nwith multiprocessing.Pool(2) as p:\n    print(p.map(abs, [-1, -2]))", "[1, 2]"),
        ("import multiprocessing\nwith multiprocessing.Manager() as m:\n    print(m.list([1]))", "[1]"),
        ("import multiprocessing\nmultiprocessing.Array('d', [1, 2])[:]", "[1.0, 2.0]"),
        (
            "import shutil\nopen('/tmp/a', 'w').write('x')\nshutil.copy2('/tmp/a', '/tmp/b')\nopen('/tmp/b').read()",
            "x",
        ),
        (
            "import sqlite3\nc = sqlite3.connect('/tmp/a.db')\nc.execute('create table t as select 3 as x')\n"
            "c.commit()\nc.execute('select x from t').fetchall()",
            "[(3,)]",
        ),
        ("import numpy as np\nfloat(np.memmap('/tmp/a', 'f4', 'w+', shape=(9,)).sum())", "0.0"),
        ("print('我爱编程 é')", "我爱编程 é"),
        ("import os\nos.listdir()", "[]"),
    ],
)
def test_ordinary_programs(code: str, said: str) -> None:
    assert run(code) == said


def test_an_error_names_its_line_and_shows_no_line_of_the_harness() -> None:
    said = run("x = 1\ndef f():\n    return x / 0\nf()")
    assert 'File "program.py", line 4, in <module>' in said
    assert said.endswith("ZeroDivisionError: division by zero")
    assert "inside" not in said
    assert run("def f(:").startswith('  File "program.py", line 1')


def test_errors_that_models_make_come_with_advice() -> None:
    assert "There is no network here" in run("import urllib.request\nurllib.request.urlopen('http://example.org')")
    assert "numpy, pandas, matplotlib" in run("import no_such_library")
    assert "EOFError" in run("input()")


def test_a_shown_figure_and_a_written_file_become_artifacts() -> None:
    artifacts = MemoryArtifacts()
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()\nplt.bar([1], [2])\nplt.show()\n"
    said = run(code + "import os\nos.mkdir('d')\nopen('d/a b.csv', 'w').write('x,y')\nNone", artifacts=artifacts)
    assert sorted(artifacts.files) == ["d_a_b.csv", "figure-1.png", "figure-2.png"]
    image = artifacts.files["figure-1.png"]
    width, height = struct.unpack(">II", image[16:24])
    assert image.startswith(b"\x89PNG")
    assert (width, height) == (768, 576)
    assert "Saved file figure-1.png (image/png" in said


def test_a_figure_left_open_is_kept_and_one_saved_by_name_is_not_kept_twice() -> None:
    artifacts = MemoryArtifacts()
    run("import matplotlib.pyplot as plt\nplt.plot([1, 2])", artifacts=artifacts)
    run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('chart.png')", artifacts=artifacts)
    assert list(artifacts.files) == ["figure-1.png", "chart.png"]


def test_characters_that_the_fonts_lack_are_told() -> None:
    said = run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('\u80a1\u4ef7')\nplt.show()")
    assert said.startswith("The fonts here lack: 价股. Write the chart's texts in Latin letters.\nSaved file")


def test_nothing_is_kept_between_calls() -> None:
    run("open('left', 'w').write('x')\nopen('/tmp/left', 'w').write('x')\nx = 1")
    assert (
        run("import os\nos.listdir('.'), [n for n in os.listdir('/tmp') if n == 'left'], 'x' in globals()")
        == "([], [], False)"
    )


def test_links_devices_and_pipes_are_not_kept_and_too_many_files_are_named() -> None:
    artifacts = MemoryArtifacts()
    code = "import os\nos.symlink('/dev/urandom', 'a')\nos.mkfifo('b')\nos.mkdir('loop')\nos.symlink('..', 'loop/up')\n"
    said = run(code + "for n in range(25):\n    open(f'f{n:02}', 'w').write('x')", artifacts=artifacts)
    assert sorted(artifacts.files) == [f"f{n:02}" for n in range(20)]
    assert "Files not kept (too many or too large): f20, f21, f22, f23, f24" in said


def test_a_cancel_ends_the_program_and_all_that_it_started() -> None:
    before = set(psutil.Process().children(recursive=True))
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    started = time.monotonic()
    code = "import os, time\nprint('started', flush=True)\nfor _ in range(3):\n    os.fork()\ntime.sleep(60)"
    with pytest.raises(ToolError, match=r"stopped: cancelled\. It had printed:\nstarted"):
        run(code, cancelled=cancelled.is_set)
    assert time.monotonic() - started < 5
    assert set(psutil.Process().children(recursive=True)) <= before


def test_the_deadline_of_the_call_ends_the_program() -> None:
    with pytest.raises(ToolError, match="out of time"):
        run("while True: pass", deadline=time.monotonic() + 0.5)


def test_without_isolation_it_refuses_with_the_remedy_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"STEPMILL_PYTHON_ISOLATION": "magic"}
    with pytest.raises(ToolError, match=r"no isolation works \(magic.*STEPMILL_PYTHON_ISOLATION=none"):
        run("1", settings=settings)
    settings = {"STEPMILL_PYTHON_ISOLATION": "none"}
    monkeypatch.setenv("SOME_TOKEN", "very-secret-token")
    assert run("import os\n'very-secret-token' in str(os.environ), os.listdir()", settings=settings) == "(False, [])"
    artifacts = MemoryArtifacts()
    run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", settings=settings, artifacts=artifacts)
    assert list(artifacts.files) == ["figure-1.png"]


def test_without_isolation_the_whole_tree_is_still_ended() -> None:
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    os.fork()\ntime.sleep(60)"
    settings = {"STEPMILL_PYTHON_ISOLATION": "none"}
    others = set(psutil.Process().children(recursive=True))  # servers that other tests of this process use
    with pytest.raises(ToolError, match="out of time"):
        run(code, settings=settings, deadline=time.monotonic() + 1)
    left = set(psutil.Process().children(recursive=True)) - others
    assert [child for child in left if "-I" in _command(child)] == []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def test_the_mechanism_in_force_is_named() -> None:
    assert mechanisms.mechanism("none") == "none"
    assert mechanisms.mechanism("magic") is None
    assert "magic: no such isolation" in mechanisms.why_none("magic")
    assert mechanisms.mechanism() in {"bubblewrap", "namespaces"} or not os.path.exists("/proc/self/ns/user")


def test_starting_a_program_is_quick() -> None:
    run("1")
    times = []
    for _ in range(5):
        started = time.perf_counter()
        run("1")
        times.append(time.perf_counter() - started)
    assert min(times) < 0.5
