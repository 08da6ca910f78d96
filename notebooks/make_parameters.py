"""Prints the page of parameters, `api/parameters.md`, from the code: `python notebooks/make_parameters.py > that`."""

import inspect

import jaxtree
from jaxtree.estimators.common.peers import LIBRARIES, peers

FAMILIES = {
    "Trees": (jaxtree.DecisionTreeClassifier, jaxtree.DecisionTreeRegressor),
    "Quinlan's trees": (jaxtree.ID3Classifier, jaxtree.C45Classifier),
    "Optimal trees": (jaxtree.OptimalTreeClassifier, jaxtree.OptimalTreeRegressor, jaxtree.PolicyTree),
    "Forests": (jaxtree.RandomForestClassifier, jaxtree.ExtraTreesClassifier, jaxtree.RandomForestRegressor),
    "Forests of moment equations": (jaxtree.CausalForest, jaxtree.InstrumentalForest),
    "Boosting": (
        jaxtree.GradientBoostingClassifier,
        jaxtree.GradientBoostingRegressor,
        jaxtree.GradientBoostingRanker,
        jaxtree.GradientBoostingDistribution,
    ),
    "Additive models": (jaxtree.ExplainableBoostingClassifier, jaxtree.ExplainableBoostingRegressor),
    "Soft trees": (jaxtree.SoftTreeClassifier, jaxtree.SoftForestClassifier, jaxtree.SoftTreeRegressor),
}

HEAD = """# Parameters, and what other libraries call them

Made from the code by `notebooks/make_parameters.py`. A parameter has one name in all estimators. Where a table names
several estimators, defaults that differ stand in their order. A dash: the library has no such parameter. An estimator
that is given another library's name answers with its own.
"""


def defaults_of(kind):
    """The default of every parameter of an estimator, as its constructor has it."""
    return {name: own.default for name, own in inspect.signature(kind).parameters.items()}


def in_words(values):
    """Defaults as Python has them, once if all are equal."""
    words = list(dict.fromkeys(f"`{value!r}`" for value in values))
    return ", ".join(words)


def table_of(kinds):
    """The lines of the table of some estimators."""
    defaults = [defaults_of(kind) for kind in kinds]
    names = list(dict.fromkeys(name for own in defaults for name in own))
    yield f"| parameter | default | {' | '.join(LIBRARIES)} |"
    yield "|---" * (2 + len(LIBRARIES)) + "|"
    for name in sorted(names):
        own_names = peers().parameters.get(name, {})
        cells = [", ".join(f"`{own}`" for own in own_names.get(library, ())) or "-" for library in LIBRARIES]
        yield f"| `{name}` | {in_words([own[name] for own in defaults if name in own])} | {' | '.join(cells)} |"


def page():
    """The whole page."""
    parts = [HEAD]
    for family, kinds in FAMILIES.items():
        named = ", ".join(f"{{py:class}}`jaxtree.{kind.__name__}`" for kind in kinds)
        parts.append(f"## {family}\n\n{named}\n\n" + "\n".join(table_of(kinds)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
