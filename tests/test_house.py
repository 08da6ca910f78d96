"""The floors of the house: a room imports rooms below it, and itself, and nothing else of jaxtree."""

import ast
import collections
import graphlib
import importlib
import pathlib
import re
import subprocess
import sys

import pytest

import jaxtree

PACKAGE = pathlib.Path(__file__).parent.parent / "jaxtree"
STUDIES = PACKAGE.parent / "studies"
FLOORS = [
    {"lazy"},
    {"arrays", "errors", "buckets", "cores", "heap", "keys", "lines", "notebook", "sklearn_compat", "switches"},
    {"either", "forks", "kernels.library", "traces", "program_folder"},
    {"devices"},
    {"blocks", "compilation"},
    {"kernels"},
    {"table", "datasets", "criteria"},
    {"tree"},
    {"growth", "prune", "export", "losses"},
    {"boosting", "forests", "explain", "dropout", "optimal"},
    {"soft", "dataset", "additive", "moments"},
    {"metrics", "functional"},
    {"effects"},
    {"figures"},
    {"files", "plot"},
    {"serving"},
    {"estimators"},
    {"description"},
    {"page", "ray", "foreign"},
    {"search"},
    {"resampling", "doctor"},
    {"distillation"},
    {"cli", "__init__"},
    {"__main__"},
]
"""The rooms of each floor; `kernels.library` is below its room, as devices are chosen by whether it is there."""
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))
ROOMS = ("jaxtree", "studies", "tests", "benchmarks", "notebooks")
PROSE = [file for room in ROOMS for file in (PACKAGE.parent / room).rglob("*.py")]


def room_of(parts):
    """The room of a file, or the file if it has a floor of its own."""
    file = ".".join(parts[:2]).removesuffix(".py")
    return file if file in FLOOR else parts[0].removesuffix(".py")


def imported_rooms(source):
    """Rooms that a source text imports: of `jaxtree.table.schema` it is `table`."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (room_of(name.split(".")[1:]) for name in names if name.startswith("jaxtree."))


def forbidden(room, source):
    """Rooms that the source of a room imports although they are not below it."""
    return {other for other in imported_rooms(source) if other != room and FLOOR[other] >= FLOOR[room]}


def faults(check, files=FILES):
    """The findings of a check of files, by the name of the file: one test of all files costs less than one of each."""
    found = {str(file.relative_to(PACKAGE.parent)): check(file) for file in files}
    return {name: fault for name, fault in found.items() if fault}


def test_a_room_imports_only_rooms_below_it():
    assert not faults(lambda file: forbidden(room_of(file.relative_to(PACKAGE).parts), file.read_text()))


INNER_FLOORS = {
    "estimators": [{"common"}, {"trees"}, {"forests", "boosting"}, {"soft"}, {"refining", "additive"}, {"sizes"}],
    "growth": [{"inputs"}, {"plan"}, {"device"}, {"loop"}],
}
"""The floors of rooms that have folders."""


def forbidden_folders(file):
    """Folders of a file's room that it imports although they are not below its own."""
    room, folder = (*file.relative_to(PACKAGE).with_suffix("").parts, "")[:2]
    floors = INNER_FLOORS.get(room, [])
    floor = next((number for number, folders in enumerate(floors) if folder in folders), None)
    if floor is None:
        return set()
    imported = {
        name.split(".")[2] for name in imported_files(file.read_text(), {}) if name.startswith(f"jaxtree.{room}.")
    }
    return imported & set().union(*floors[floor:]) - {folder}


def test_a_folder_of_a_room_imports_only_folders_below_it():
    assert not faults(forbidden_folders)


def test_the_check_sees_a_wrong_import():
    assert forbidden("prune", "from jaxtree.growth.loop.grow import grow") == {"growth"}
    assert forbidden("tree", "import jaxtree.estimators.trees.cart") == {"estimators"}
    assert not forbidden("estimators", "from jaxtree.tree import Tree")


def test_the_package_does_not_know_the_studies():
    """They come as entry points of the command, so that the package works without them."""
    assert not [file for file in FILES if "jaxtree_studies" in file.read_text()]


def num_lines(file):
    return len(file.read_text().splitlines())


def is_too_long(file):
    return num_lines(file) > 800


def has_assertion(file):
    return any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(file.read_text())))


def test_no_check_is_lost_in_optimised_python():
    """`python -O` leaves out assertions: `jaxtree.errors` has `present`, `instance_of` and InternalError."""
    assert not faults(has_assertion, [*FILES, *STUDIES.rglob("*.py")])


def test_no_file_is_past_800_lines():
    """A class is not cut in two for a count; a file past this length has two subjects."""
    assert not faults(is_too_long, [*FILES, *STUDIES.rglob("*.py")])


def docstrings_of(file):
    """The docstrings of a file, and the strings below its constants and fields."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


COMMENT = re.compile(r"(?:^ *# .*\n)+", re.MULTILINE)


def comments_of(file):
    """The comments of a file; lines below one another are one text."""
    return [re.sub(r"^ *# ", "", text, flags=re.MULTILINE) for text in COMMENT.findall(file.read_text())]


BEGINNING = re.compile(r"(?:\A\s*|[.!?:]['\")`*]*\s+|\n\s*\n\s*|\n\s*[-*] +)(?:What|Of|That|Those)\s")


def sentences_without_noun(file):
    """Sentences and entries that begin with What, Of, That or Those in place of their noun or verb."""
    return [found[0] for text in (*docstrings_of(file), *comments_of(file)) for found in BEGINNING.finditer(text)]


def test_sentences_begin_with_their_noun_or_verb():
    text = "Of trees.\n\nArgs:\n    x: What it is.\n    y: A thing, what else. Those\n        (`a.`) That"
    assert len(BEGINNING.findall(text + " of trees.")) == 4
    assert not faults(sentences_without_noun, PROSE)
    assert not faults(lambda file: any(text.startswith("Where ") for text in docstrings_of(file)))


def module_of(file):
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_files(source, modules):
    """Modules that a source text imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_files_import_one_another_in_no_circle():
    modules = {module_of(file): file for file in FILES if file != PACKAGE / "__init__.py"}
    imports = {
        name: set(imported_files(file.read_text(), modules)) & set(modules) - {name} for name, file in modules.items()
    }
    order = list(graphlib.TopologicalSorter(imports).static_order())
    assert len(order) == len(modules)


def parameters_of(function):
    named = [argument.arg for argument in function.args.posonlyargs + function.args.args + function.args.kwonlyargs]
    return [name for name in named if name not in ("self", "cls")]


def is_command(function):
    return any("command" in ast.unparse(decorator) for decorator in function.decorator_list)


def functions_of_many_parameters(source):
    """Commands have their options, and constructors their parameters; arguments of validation rows count as one."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or function.name == "__init__" or is_command(function):
            continue
        number = len({"validation rows" if name.endswith("_val") else name for name in parameters_of(function)})
        if number > 8:
            yield function.name, number


def test_functions_have_at_most_eight_parameters():
    assert not faults(lambda file: list(functions_of_many_parameters(file.read_text())))


def test_a_class_name_means_one_thing():
    classes = [
        (node.name, str(file.relative_to(PACKAGE)))
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    number = collections.Counter(name for name, _ in classes)
    assert not [place for place in classes if number[place[0]] > 1]


def private_names_of_scikit_learn(source):
    """Modules and names of scikit-learn that a source imports although they are none of its public interface."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            yield from (name for name in names if name.startswith("_"))


def test_one_file_alone_takes_private_names_of_scikit_learn():
    assert not [
        (str(file.relative_to(PACKAGE)), name)
        for file in FILES
        if file.name != "sklearn_compat.py"
        for name in private_names_of_scikit_learn(file.read_text())
    ]
    assert list(private_names_of_scikit_learn("from sklearn.tree._tree import Tree")) == ["_tree"]


def test_models_are_known_by_their_kind():
    """An estimator says what it is by `model_kind` and `predicts`; none is recognised by the methods of its class."""
    assert not faults(lambda file: "hasattr(type(" in file.read_text())


OF_KERNELS = re.compile(r"\bimport ctypes\b|\bjax\.ffi\b|\bis_native\b|\buses_kernel\b")
"""C++ is called, and the choice who computes is made, in one room; elsewhere an `Engine` says who does."""
CALLS_LIBC = {PACKAGE / "heap.py"}


def calls_the_kernel(file):
    code = ast.unparse(_without_strings(ast.parse(file.read_text())))
    return OF_KERNELS.findall(code)


def _without_strings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return tree


def test_kernels_alone_call_the_kernel():
    assert calls_the_kernel(PACKAGE / "kernels" / "choose.py")
    elsewhere = [file for file in FILES if "kernels" not in file.relative_to(PACKAGE).parts[0]]
    assert not faults(calls_the_kernel, [file for file in elsewhere if file not in CALLS_LIBC])


OF_NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}
OF_LIBRARIES = {
    ("estimators", "_parameter_constraints"),  # scikit-learn's name for what parameters may be
    ("search", "_parameter_constraints"),
    ("estimators", "_get_param_names"),
    ("search", "_sign"),  # of a scorer of scikit-learn
    ("search", "_response_method"),
    ("search", "_repr_html_"),  # of notebooks
    ("foreign", "_predictors"),  # of boosting by histograms, which has no public names for its trees
    ("foreign", "_baseline_prediction"),
    ("foreign", "_preprocessor"),
    ("compilation.py", "_cache_size"),  # of a function compiled by JAX
}


def private_attributes_of_others(source):
    """Such as `x._y`; what is private to an object may be used by it, by its class, and by another of its class."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        owner = ast.unparse(node.value)
        if owner not in ("self", "cls", "other", "type(self)", "super()") and node.attr not in OF_NAMED_TUPLES:
            yield owner, node.attr


def test_no_private_attribute_of_another_object_is_used():
    def check(file):
        room, uses = file.relative_to(PACKAGE).parts[0], private_attributes_of_others(file.read_text())
        return [use for use in uses if (room, use[1]) not in OF_LIBRARIES]

    assert not faults(check)


def test_the_checks_see_what_they_forbid():
    assert list(private_attributes_of_others("tree._nodes; self._a; point._replace(x=1)")) == [("tree", "_nodes")]
    assert list(imported_files("from jaxtree.tree import walk", {"jaxtree.tree.walk"})) == ["jaxtree.tree.walk"]
    with pytest.raises(graphlib.CycleError):
        list(graphlib.TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())
    assert parameters_of(ast.parse("def f(self, a, *, b): ...").body[0]) == ["a", "b"]
    assert list(functions_of_many_parameters("def f(a, b, c, d, e, f, g, *, h, i): ...")) == [("f", 9)]
    assert not list(functions_of_many_parameters("def f(a, b, c, d, e, f, g, *, X_val, y_val): ..."))
    assert faults(lambda file: file.name == "errors.py" and "a fault", FILES) == {"jaxtree/errors.py": "a fault"}


FACADES = {"__init__.py", "__main__.py"}


def test_a_file_is_worth_opening():
    assert not faults(lambda file: file.name not in FACADES and num_lines(file) < 40)


def test_the_package_loads_what_is_asked_for_and_touches_no_device():
    """Names come late, so that help and version of the command, and programs that use little, wait for little.

    A computation at import would take a GPU's memory.
    """
    code = """
import sys, jaxtree
assert not {"jax", "sklearn", "numpy"} & set(sys.modules), "import jaxtree loads libraries"
jaxtree.DecisionTreeClassifier
assert not {"optax", "matplotlib"} & set(sys.modules), "a tree loads what other rooms need"
jaxtree.compilation.enable_compilation_cache, jaxtree.plot.plot_tree
[getattr(jaxtree, name) for name in dir(jaxtree)]
from jax._src import xla_bridge
assert not xla_bridge._backends, "importing jaxtree started a backend"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_of_the_stub_are_there():
    """The package reads its stub line by line, and so cannot read an import over several lines."""
    imports = [
        node for node in ast.parse((PACKAGE / "__init__.pyi").read_text()).body if isinstance(node, ast.ImportFrom)
    ]
    named = {(alias.name, node.module) for node in imports for alias in node.names}
    assert named == set(jaxtree._MODULE_OF.items())
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    for name, module in named:
        assert getattr(jaxtree, name) is getattr(importlib.import_module(module), name)
        assert name in dir(jaxtree)
    loaded: dict[str, object] = {}
    exec("from jaxtree import *", loaded)
    assert {name for name, module in named if module != "jaxtree"} == set(loaded) - {"__builtins__"}
