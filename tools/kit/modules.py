"""Imports tool modules: by name, or by the path of a file or directory."""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

OURS = frozenset({"api", "stepmill", "tools", "worker"})
_directories: set[Path] = set()
"""Directories of the files that were named by path."""


class BadModule(Exception):
    """An entry that cannot be a module of tools; says why and what to do."""


def is_path(entry: str) -> bool:
    """Whether the entry names a file or directory: it has a slash, begins with a dot, or ends in `.py`."""
    return os.sep in entry or entry.startswith((".", "~")) or entry.endswith(".py")


def expanded(entry: str) -> list[str]:
    """Returns the files of a directory; any other entry, packages included, as it is. Raises BadModule."""
    path = Path(entry).expanduser().absolute()
    if not is_path(entry):
        return [entry]
    if not path.exists():
        raise BadModule(f"there is no file or directory {path}")
    if not path.is_dir() or (path / "__init__.py").is_file():
        return [str(path)]
    files = [str(file) for file in sorted(path.glob("*.py")) if not file.name.startswith((".", "_", "test_"))]
    if not files:
        raise BadModule(f"the directory {path} has no Python files")
    return files


def load(entry: str) -> ModuleType:
    """Imports an entry of `expanded`. Raises BadModule, and anything that the module raises."""
    return _load_file(Path(entry)) if is_path(entry) else _load_named(entry)


def _load_named(name: str) -> ModuleType:
    if name in OURS:
        raise BadModule(f"`{name}` is stepmill's own package; name your file by its path, such as ./{name}.py")
    top = name.partition(".")[0]
    if top not in sys.modules and find_spec(top) is None and _beside(Path.cwd(), top):
        _search_last(Path.cwd())  # the directory in which the command runs
    found = find_spec(top)
    if (found is None or found.origin is None) and Path(name).is_dir():
        raise BadModule(f"`{name}` has no __init__.py; name the directory by its path, such as ./{name}")
    if found is not None and found.origin and top not in OURS:
        root = Path(found.origin).parent.parent if found.submodule_search_locations else Path(found.origin).parent
        _refuse_shadowed(_file_of(root, name), root, set())
    return importlib.import_module(name)


def _load_file(path: Path) -> ModuleType:
    if path.suffix != ".py" and not path.is_dir():
        raise BadModule(f"{path} is not a Python file; its name must end in .py")
    file = path / "__init__.py" if path.is_dir() else path
    name = _free_name(path.stem, file)
    _search_last(path.parent)
    _directories.add(path.parent)
    _refuse_shadowed(file, path.parent, set())
    known = sys.modules.get(name)
    return known if known is not None else _run(name, file, path.is_dir())


def _free_name(stem: str, file: Path) -> str:
    """Returns the file's stem, by which its neighbours import it; another name if Python or a package has that one."""
    taken = _origin(stem)
    if taken is None or _same(taken, file):
        return stem
    if taken.parent in _directories or taken.parent.parent in _directories:
        raise BadModule(f"{file} and {taken} have the same name; rename one of them")
    return f"stepmill_tools_{stem}"


def _run(name: str, file: Path, package: bool) -> ModuleType:
    spec = spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)] if package else None)
    if spec is None or spec.loader is None:
        raise BadModule(f"{file} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _search_last(directory: Path) -> None:
    """Makes its modules importable, after all others, so that they hide none."""
    if str(directory) not in sys.path:
        sys.path.append(str(directory))


def _refuse_shadowed(file: Path, root: Path, seen: set[Path]) -> None:
    """Raises BadModule if the file, or a neighbour it imports, imports a neighbour that Python would not load."""
    if file in seen or not file.is_file() or file.suffix != ".py":
        return
    seen.add(file)
    for line, module, names in _imports(file):
        top = module.partition(".")[0]
        neighbour = _beside(root, top)
        used = _origin(top)
        if neighbour is None or used is None:
            continue
        if _same(used, neighbour):
            if top not in OURS:
                _refuse_shadowed(neighbour, root, seen)
        elif not _is_public(module, names, neighbour):
            whose = "stepmill's own" if top in OURS else f"that of {used}"
            raise BadModule(
                f"{file.name}, line {line}, imports `{top}`, and here that name is {whose}: rename {neighbour}"
            )


def _imports(file: Path) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yields line, module, and imported names of each absolute import."""
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError):
        return  # running the file reports the error, with its line
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module, tuple(alias.name for alias in node.names)


def _is_public(module: str, names: tuple[str, ...], neighbour: Path) -> bool:
    """Whether the import can only mean `tools.base`, with which tools are made."""
    meant = module == "tools.base" or (module == "tools" and names == ("base",))
    return meant and not (neighbour.name == "__init__.py" and neighbour.with_name("base.py").is_file())


def _origin(top: str) -> Path | None:
    """Returns the file that Python has loaded, or would load, under the name; None if there is none."""
    loaded = sys.modules.get(top)
    try:
        origin = getattr(loaded, "__file__", None) if loaded is not None else getattr(find_spec(top), "origin", None)
    except ValueError:
        return None
    if origin is None:
        return None if loaded is None and top not in sys.builtin_module_names else Path(top)
    return Path(origin)


def _beside(root: Path, top: str) -> Path | None:
    found = (root / f"{top}.py", root / top / "__init__.py")
    return next((file for file in found if file.is_file()), None)


def _file_of(root: Path, name: str) -> Path:
    path = root.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and os.path.samefile(one, other)
