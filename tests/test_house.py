"""The floors of the house: a room imports rooms below it, and itself, and nothing else of jaxtree."""

import ast
import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).parent.parent / "jaxtree"
FLOORS = [
    {"arrays", "errors", "buckets", "compilation", "hashing", "programs"},
    {"table", "tree", "datasets"},
    {"growth", "pruning", "soft", "export", "sklearn_tree"},
    {"ensemble", "explain"},
    {"estimators", "criteria", "prune", "dropout", "plot"},
    {"search", "page"},
    {"study"},
    {"cli", "__init__"},
    {"__main__"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(parts):
    return parts[0].removesuffix(".py")


def imported_rooms(source):
    """Rooms that a source text imports: of `jaxtree.table.schema` it is `table`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "jaxtree":
            yield from (alias.name for alias in node.names)
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        yield from (name.split(".")[1] for name in names if name.startswith("jaxtree."))


def forbidden(room, source):
    """Rooms that the source of a room imports although they are not below it."""
    return {other for other in imported_rooms(source) if other != room and FLOOR[other] >= FLOOR[room]}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_room_imports_only_rooms_below_it(file):
    room = room_of(file.relative_to(PACKAGE).parts)
    assert not forbidden(room, file.read_text()), f"{room} imports {forbidden(room, file.read_text())}"


def test_the_check_sees_a_wrong_import():
    assert forbidden("pruning", "from jaxtree.growth.grow import grow") == {"growth"}
    assert forbidden("tree", "import jaxtree.estimators.trees") == {"estimators"}
    assert not forbidden("estimators", "from jaxtree.tree import Tree")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_file_is_past_400_lines(file):
    assert len(file.read_text().splitlines()) <= 400


def test_importing_computes_nothing_and_touches_no_device():
    """A computation at import would take a GPU's memory."""
    code = (
        "import jaxtree; from jax._src import xla_bridge; "
        "assert not xla_bridge._backends, 'importing jaxtree started a backend'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
