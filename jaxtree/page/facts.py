"""What a page says of an estimator in numbers: its size, parameters, importances and, of a forest, scores."""

import contextlib
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from jaxtree.page.rows import Rows
from jaxtree.page.subject import Subject


def summary(subject: Subject, rows: list[Rows]) -> list[tuple[str, str]]:
    """Names and values for the head of the page."""
    tree = subject.tree
    facts = [(f"{own.name} rows", f"{len(own.target):,}") for own in rows]
    if not any(own.name == "training" for own in rows):
        facts.insert(0, ("training rows", f"{int(tree.num_rows[0]):,}"))
    facts.append(("columns", f"{len(subject.schema.columns):,}"))
    if subject.classes:
        facts.append(("classes", f"{len(subject.classes):,}"))
    if subject.number is not None:
        facts.append(("trees", f"{len(subject.whole.estimators_):,}"))
    sizes = (("nodes", tree.node_count), ("leaves", tree.n_leaves), ("depth", tree.max_depth))
    return facts + [(name, f"{size:,}") for name, size in sizes]


def parameters(estimator: Any) -> list[tuple[str, str, bool]]:
    """Names and values of the parameters, and whether each is another than by default; those first.

    >>> from jaxtree import DecisionTreeClassifier
    >>> parameters(DecisionTreeClassifier(max_depth=3))[:2]
    [('max_depth', '3', True), ('categorical_features', "'from_dtype'", False)]
    """
    defaults: dict[str, Any] = {}
    with contextlib.suppress(TypeError):  # a class whose parameters have no defaults
        defaults = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    listed = [(name, repr(value), repr(value) != repr(defaults.get(name))) for name, value in given.items()]
    return sorted(listed, key=lambda parameter: not parameter[2])


def importances(subject: Subject) -> list[dict[str, Any]]:
    """The columns that splits ask for with their share of the gain, the largest first."""
    values = np.asarray(subject.whole.feature_importances_, np.float64)
    order = np.argsort(-values, kind="stable")
    return [
        {"column": place, "name": subject.schema.columns[place].name, "value": float(values[place])}
        for place in order.tolist()
        if values[place] > 0
    ]


def scores_of_forest(subject: Subject, rows: list[Rows], tables: list[tuple[Any, Any]]) -> list[tuple[str, float]]:
    """What a forest scores on rows by itself: accuracy, or the coefficient of determination; nothing for a tree."""
    if subject.number is None:
        return []
    measure = "accuracy" if is_classifier(subject.whole) else "R²"
    scores = zip(rows, tables, strict=True)
    return [(f"{own.name} {measure}", float(subject.whole.score(X, y))) for own, (X, y) in scores]
