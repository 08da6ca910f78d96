"""Every parameter is declared once: its type, its constraints, its role and its text."""

import ast
import collections
import inspect
import pathlib
import re

import pytest

import jaxtree
from jaxtree.estimators.common.conventions import AnnotatedParameters
from jaxtree.resampling import BorutaSelector, ConformalRegressor
from jaxtree.sklearn_compat import Interval

PACKAGE = pathlib.Path(jaxtree.__file__).parent
PUBLIC = [own for name in dir(jaxtree) if inspect.isclass(own := getattr(jaxtree, name))]
KINDS = [own for own in [*PUBLIC, BorutaSelector, ConformalRegressor] if issubclass(own, AnnotatedParameters)]

FEWER_WORDS = {("OptimalSearch", "missing")}
"""Declared again, since fewer words are allowed than in the class above."""


def declared_in(source):
    """The annotated parameters of every class of a source text: the marks of each, by class and name."""
    found = collections.defaultdict(dict)
    for kind in ast.walk(ast.parse(source)):
        for node in kind.body if isinstance(kind, ast.ClassDef) else ():
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith("Annotated["):
                found[kind.name][ast.unparse(node.target)] = node.annotation.slice.elts
    return dict(found)


ROOMS = [PACKAGE / "estimators", PACKAGE / "distillation", PACKAGE / "resampling"]
DECLARED = {
    name: own for room in ROOMS for file in room.rglob("*.py") for name, own in declared_in(file.read_text()).items()
}


def faults_of(declared):
    """The parameters that have not a type, one constraint at least, and one role."""
    for kind, parameters in declared.items():
        for name, (_, *marks) in parameters.items():
            words = [ast.unparse(mark) for mark in marks]
            roles = [word for word in words if re.match(r"Role\.|GrowthLimit\(", word)]
            if len(roles) != 1 or len(words) < 2:
                yield kind, name, words


def test_every_declaration_has_a_type_constraints_and_one_role():
    assert len(KINDS) > 30 and sum(map(len, DECLARED.values())) > 150
    assert not list(faults_of(DECLARED))


def test_a_parameter_without_a_role_is_seen():
    forgotten = "class A:\n    depth: Annotated[int, whole(1)] = 1\n    seed: Annotated[Any, *SEED, Role.SEED] = None"
    assert list(faults_of(declared_in(forgotten))) == [("A", "depth", ["whole(1)"])]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_declared_by_one_class_and_documented_once(kind):
    names = list(inspect.signature(kind).parameters)
    for name in names:
        owners = [base.__name__ for base in kind.__mro__ if name in DECLARED.get(base.__name__, ())]
        assert len([owner for owner in owners if (owner, name) not in FEWER_WORDS]) == 1, (name, owners)
    assert set(kind.roles) >= set(names) and set(kind._parameter_constraints) >= set(names)
    arguments = re.search(r"^Args:\n((?: {4}.*\n?)+)", inspect.getdoc(kind), re.MULTILINE)
    documented = re.findall(r"^ {4}(\w+): \S", arguments[1] if arguments else "", re.MULTILINE)
    assert sorted(documented) == sorted(names)


def test_a_class_has_the_texts_of_its_bases_below_its_own():
    text = inspect.getdoc(jaxtree.ExtraTreesRegressor)
    assert text.index("Args:") < text.index("criterion:") < text.index("max_features:") < text.index("Attributes:")
    assert inspect.getdoc(jaxtree.GradientBoostingDistribution).count("    monotonic_cst: ") == 1
    assert "how the location" in inspect.getdoc(jaxtree.GradientBoostingDistribution)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_true_is_no_number_nor_is_an_integer_that_no_float_holds(kind):
    """Python takes true for the integer 1: a table of settings read wrongly would fit another model in silence."""
    for name, constraints in kind._parameter_constraints.items():
        numbers = [own for own in constraints if isinstance(own, Interval)]
        assert not any(own.is_satisfied_by(value) for own in numbers for value in (True, 10**600)), name
