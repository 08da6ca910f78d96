"""The page: the arguments and the facts in numbers, put into its template."""

import base64
import contextlib
import hashlib
import json
from importlib import resources
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError, InvalidTypeError, import_extra
from jaxtree.export.models import exported_model
from jaxtree.page.boosted import boosted_facts
from jaxtree.page.columns import PageRows, Subject, page_data, read_rows, subject_of
from jaxtree.table.numerals import score_in_words

SCRIPTS = ("elements", "tree", "scores", "histogram", "outline", "map", "details", "charts", "main")
"""The parts of the page's one script, in their order."""


def to_html(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    X_val: Any = None,
    y_val: Any = None,
    title: str | None = None,
    tree: int = 0,
    **extras: Any,
) -> str:
    """Returns one interactive page of a fitted tree, or a page of boosted trees; it needs no network, nor other files.

    It has the tree to walk through by mouse or keyboard, sliders that prune it (cost complexity, depth, and a draw of
    dropout) with the accuracy that follows, the path of every row, and importances, confusion matrix and ROC curves, or
    predictions against targets. Rows whose missing value is shared out among branches count with their parts.

    Boosted trees have the losses of all evaluations round by round, importances, partial dependences of the score on
    the most important columns if rows are given, and the first trees.

    Args:
        estimator: A fitted tree of one output, boosted trees, or a forest, of which the page shows one tree.
        X: The rows that it was fitted on, for histograms and for rows to follow. Without them the page knows what the
            tree itself does: of classes how its training weight is predicted.
        y: Their target.
        X_val: Rows that it has not seen.
        y_val: Their target.
        title: The page's; the class of the estimator if not given.
        tree: Which tree of a forest is shown; of boosted trees the first of three.
        extras: What the loss of boosted trees asks for, such as `event=`, `group=` or `offset=`, of every row of X; and
            with "_val" behind the names, such as `event_val=`, of every row of X_val.

    Raises:
        InvalidInputError: The estimator has several outputs, X or y is given alone or not as in fit, or there is no
            such tree.
        InvalidTypeError: The estimator is no tree or forest of jaxtree with hard splits along the axes.
        MissingExtraError: jinja2 is not installed.
        sklearn.exceptions.NotFittedError: The estimator is not fitted.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> page = to_html(DecisionTreeClassifier().fit(X[::2], y[::2]), X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
        >>> page[:15], "://" in page
        ('<!doctype html>', False)
    """
    tables = [("training", X, y), ("validation", X_val, y_val)]
    for names, table, target in (("X and y", X, y), ("X_val and y_val", X_val, y_val)):
        if (table is None) != (target is None):
            raise InvalidInputError(f"{names} go together, got one of them alone")
    if exported_model(estimator).link is not None:
        return _boosted_page(estimator, tables, title, tree, extras)
    if extras:
        raise InvalidTypeError(f"to_html takes {next(iter(extras))!r} of boosted trees, got {type(estimator).__name__}")
    template = template_of("page.html")
    subject = subject_of(estimator, tree)
    rows = [own for table in tables if (own := read_rows(subject, *table)) is not None]
    script = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    return template.render(
        title=type(estimator).__name__ if title is None else title,
        subject=subject,
        estimator=type(estimator).__name__,
        num_trees=0 if subject.number is None else len(estimator.estimators_),
        summary=_summary(subject, rows),
        scores=_scores_of_forest(subject, tables),
        parameters=parameters(estimator),
        importances=_importances(estimator),
        has_sums=bool(rows) or bool(subject.classes),
        has_rows=bool(rows),
        style=asset("page.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=_as_json(page_data(subject, rows)),
    )


def _boosted_page(
    estimator: Any, tables: list[tuple[str, Any, Any]], title: str | None, tree: int, extras: dict[str, Any]
) -> str:
    name = type(estimator).__name__
    held = {key.removesuffix("_val"): values for key, values in extras.items() if key.endswith("_val")}
    seen = {key: values for key, values in extras.items() if not key.endswith("_val")}
    return template_of("boosted.html").render(
        title=name if title is None else title,
        estimator=name,
        parameters=parameters(estimator),
        importances=_importances(estimator),
        style=asset("page.css"),
        **boosted_facts(estimator, tables, tree, {"training": seen, "validation": held}),
    )


def _as_json(data: dict[str, Any]) -> str:
    """JSON that can stand in a script element, whatever names are in it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def asset(name: str) -> str:
    """Returns the text of a file that pages are made of."""
    return resources.files("jaxtree.page").joinpath("assets", name).read_text(encoding="utf-8")


def template_of(name: str) -> Any:
    """Returns a template of jinja2; raises MissingExtraError without that."""
    jinja2 = import_extra("jinja2", "to_html", "plot")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _summary(subject: Subject, rows: list[PageRows]) -> list[tuple[str, str]]:
    """Names and values for the head of the page."""
    tree = subject.tree
    facts = [(f"{own.name} rows", f"{len(own.target):,}") for own in rows]
    if not any(own.name == "training" for own in rows):
        facts.insert(0, ("training rows", f"{int(tree.num_rows[0]):,}"))
    facts.append(("columns", f"{len(subject.schema.columns):,}"))
    if subject.classes:
        facts.append(("classes", f"{len(subject.classes):,}"))
    if subject.number is not None:
        facts.append(("trees", f"{len(subject.estimator.estimators_):,}"))
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


def _importances(estimator: Any) -> list[dict[str, Any]]:
    """The columns that splits ask for with their share of the gain, the largest first."""
    values = np.asarray(estimator.feature_importances_, np.float64)
    order = np.argsort(-values, kind="stable")
    return [
        {"column": place, "name": estimator.schema_.columns[place].name, "value": float(values[place])}
        for place in order.tolist()
        if values[place] > 0
    ]


def _scores_of_forest(subject: Subject, tables: list[tuple[str, Any, Any]]) -> list[tuple[str, str]]:
    """The scores of a forest by itself: with their names; none for a tree."""
    if subject.number is None:
        return []
    estimator = subject.estimator
    given = [(name, X, y) for name, X, y in tables if X is not None]
    return [(f"{name} {estimator.score_name_}", score_in_words(estimator.score(X, y))) for name, X, y in given]
