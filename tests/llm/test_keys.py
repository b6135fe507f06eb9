"""Keys are looked up at each call, so that a new one counts at once, and show up nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.environment import variable
from worker.core.errors import WrongKey
from worker.llm.keys import KeySource


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present directory, where a `.env` counts."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mounted_at(path: Path) -> KeySource:
    return KeySource({"STEPMILL_KEYS_DIR": str(path)}.get)


def test_the_mounted_file_comes_before_the_environment_and_that_before_the_env_file(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / ".env").write_text(f"STEPMILL_KEYS_DIR={directory}\nA=file-a\nB=file-b\nC='file c'\n")
    (directory / "A").write_text("mounted-a\n")
    for name, value in {"A": "env-a", "B": "env-b", "C": "", "D": "  "}.items():
        monkeypatch.setenv(name, value)
    assert [KeySource(variable).key(name) for name in "ABCD"] == ["mounted-a", "env-b", "file c", None]


def test_a_file_written_anew_counts_at_once(directory: Path) -> None:
    env_file = directory / ".env"
    source = KeySource(variable)
    assert source.key("K") is None
    env_file.write_text("K=one\n")
    assert source.key("K") == "one"
    env_file.write_text("K=two-longer\n")
    assert source.key("K") == "two-longer"
    env_file.unlink()
    assert source.key("K") is None


def test_a_secret_that_is_swapped_by_a_link_counts_too(tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "K").write_text(f"key-{version}")
        os.utime(tmp_path / version / "K", (1_000_000, 1_000_000))
    mounted = tmp_path / "keys"
    mounted.symlink_to(tmp_path / "v1")
    source = mounted_at(mounted)
    assert source.key("K") == "key-v1"
    mounted.unlink()
    mounted.symlink_to(tmp_path / "v2")
    assert source.key("K") == "key-v2"


def test_an_env_file_that_did_not_change_is_not_read_again(directory: Path) -> None:
    env_file = directory / ".env"
    env_file.write_text("K=one\n")
    source = KeySource(variable)
    source.key("K")
    before_ns = env_file.stat().st_atime_ns
    os.utime(env_file, ns=(1, env_file.stat().st_mtime_ns))
    assert source.key("K") == "one"
    assert env_file.stat().st_atime_ns == 1 != before_ns, "a read would have renewed the access time"


def test_no_name_leads_out_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("no")
    (tmp_path / "keys").mkdir()
    source = mounted_at(tmp_path / "keys")
    assert source.key("../secret") is None
    assert source.key("") is None


def test_a_mounted_file_that_cannot_be_read_is_the_operators_to_mend(tmp_path: Path) -> None:
    (tmp_path / "DIRECTORY").mkdir()
    (tmp_path / "BYTES").write_bytes(b"sk-\xff\xfe")
    for name, why in (("DIRECTORY", "Is a directory"), ("BYTES", "not UTF-8")):
        with pytest.raises(WrongKey, match=f"{name} cannot be read: .*{why}"):
            mounted_at(tmp_path).key(name)


def test_keys_are_in_no_repr(directory: Path) -> None:
    (directory / ".env").write_text("K=very-secret\n")
    source = KeySource(variable)
    assert source.key("K") == "very-secret"
    assert "secret" not in repr(source)
