"""The page: its arguments, and its parts put into a template."""

import base64
import contextlib
import hashlib
import inspect
import json
from importlib import resources
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError, InvalidTypeError, import_extra
from jaxtree.estimators.common.extras import extras_of
from jaxtree.estimators.common.peers import hint_for_argument
from jaxtree.export.models import best_of_search
from jaxtree.page.answers import Answers, PageTable, answers_of, read_table
from jaxtree.page.cards import widths_of_cards
from jaxtree.page.columns import check_number, page_data, rows_of_tree, subject_of
from jaxtree.page.of_terms import told_terms
from jaxtree.page.outlines import OutlinedTree, outline_of_planes, outlines_of_rounds
from jaxtree.page.parts import page_parts, summary_of
from jaxtree.switches import by_own

SHARED_SCRIPTS = ("elements", "text", "plot", "list", "grid", "cards", "rows")
TREE_SCRIPTS = ("tree", "scores", "histogram", "outline", "map", "details", "charts", "main")
TERM_SCRIPTS = ("surface", "terms")
"""The parts of the page's one script, in their order; those of a tree to walk through or of terms follow the others."""


@by_own
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
    """Returns one interactive page of a fitted model; it needs no network, nor other files.

    It has how right the model is on the given rows: of classes the confusion matrix, ROC curves and calibration; of
    numbers residuals; of distributions how many targets their intervals hold; of survival times concordance, and
    curves of groups by risk beside Kaplan and Meier's; of ranks NDCG by group. It has what counts: importances,
    Shapley values, and how probabilities or means depend on each of the most important columns. And it has rows one by
    one, with what each column contributes to the prediction of a row. What there are many of is drawn for some rows,
    which are spread over the table; the page says so.

    A tree can be walked through by mouse or keyboard; sliders prune it (cost complexity, depth, and a draw of dropout)
    with the accuracy that follows. Rows whose missing value is shared out among branches count with their parts.
    Additive models have their terms, sorted and to be searched: curves with intervals over the density of the rows, and
    surfaces of pairs. A row's values can be changed there, and its sum follows; changes by hand are listed.
    Boosted trees have the losses of all evaluations round by round, and what the nodes of some trees add; forests the
    error by the number of trees, also out of bag, and one tree; hardened trees the greatest terms of their planes;
    ensembles their members.

    Args:
        estimator: A fitted tree of one output, a forest, boosted trees, a hardened tree, or an ensemble.
        X: The rows that it was fitted on. Without rows the page has what the model itself knows.
        y: Their target. Without it the page does not say how right the model is.
        X_val: Rows that it has not seen.
        y_val: Their target.
        title: The page's; the class of the estimator if not given.
        tree: Which tree of a forest is shown; of boosted trees the first of three.
        extras: `sample_weight=`, the weight of every row of X; and what the loss of boosted trees asks for, such as
            `event=`, `group=` or `offset=`. With "_val" behind the names, such as `event_val=`, those of X_val. Rows of
            weight 0 are left out. The tree with sliders counts rows, and not their weights.

    Raises:
        InvalidInputError: The estimator has several outputs of classes, y is given without X, X_val or y_val is given
            alone, rows are not as in fit, all weights are 0, or there is no such tree.
        InvalidTypeError: The estimator is none of these, or takes no such extra.
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
    estimator = best_of_search(estimator)
    for names, table, target in (("X and y", X, y), ("X_val and y_val", X_val, y_val)):
        if (table is None and target is not None) or (table is not None and target is None and names != "X and y"):
            raise InvalidInputError(f"{names} go together, got one of them alone")
    answers = answers_of(estimator)
    seen, held = _extras_by_table(answers, extras)
    given = (("training", X, y, seen), ("validation", X_val, y_val, held))
    tables = [own for table in given if (own := read_table(answers, *table)) is not None]
    return _render(answers, tables, title, tree)


def _extras_by_table(answers: Answers, extras: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The extras of the rows of X, and of those of X_val: weights, and what the loss of boosted trees asks for."""
    _check_extras(answers, extras)
    held = {key.removesuffix("_val"): values for key, values in extras.items() if key.endswith("_val")}
    seen = {key: values for key, values in extras.items() if not key.endswith("_val")}
    return seen, held


def _check_extras(answers: Answers, extras: dict[str, Any]) -> None:
    """Raises InvalidTypeError for an argument that a page of the model does not take."""
    of_loss = extras_of(answers.estimator.loss_) if answers.adds_up else ()
    known = [name + end for end in ("", "_val") for name in ("sample_weight", *of_loss)]
    for name in extras:
        if name not in known:
            hint = hint_for_argument(name, [*inspect.signature(to_html).parameters, *known], [])
            kind = type(answers.estimator).__name__
            raise InvalidTypeError(
                f"to_html of a {kind} takes no {name!r}{hint}; of every row it takes {', '.join(known)}"
            )


def _render(answers: Answers, tables: list[PageTable], title: str | None, tree: int) -> str:
    """The page of rows that are read."""
    estimator = answers.estimator
    name = type(estimator).__name__
    subject, explored = None, []
    if _is_explored(answers):
        subject = subject_of(estimator, tree)
        explored = [rows_of_tree(subject, table) for table in tables if table.target is not None]
    trees, hint = _outlines(answers, tree) if subject is None else ([], "")
    parts = page_parts(answers, tables, of_one_tree=subject is not None and subject.number is None)
    told = page_data(subject, explored) if subject is not None else {}
    told |= {"cards": {card.id: card.told() for own in parts.groups for card in own.cards}, "rows": parts.rows}
    if answers.is_additive:
        told["terms"] = told_terms(answers, tables)
    return render(
        "page.html",
        told,
        of_tree=subject is not None,
        of_terms=answers.is_additive,
        title=name if title is None else title,
        estimator=name,
        parameters=parameters(estimator),
        summary=summary_of(answers, tables, subject),
        subject=subject,
        terms=answers.is_additive,
        edits=told["terms"]["edits"] if answers.is_additive else [],
        num_trees=0 if subject is None or subject.number is None else len(estimator.estimators_),
        importances=_importances(estimator) if subject is not None else [],
        has_sums=bool(explored) or bool(answers.classes),
        has_rows=bool(explored),
        groups=parts.groups,
        notes=_notes(answers),
        rows=parts.rows,
        trees=trees,
        widths_of_trees=widths_of_cards(len(trees)),
        hint_of_trees=hint,
    )


def _notes(answers: Answers) -> list[str]:
    """Sentences about the model below its facts."""
    notes = []
    for column in answers.schema.columns:
        if column.rare_words is not None:
            notes.append(f"Column {column.name} {column.rare_words.in_words(column.num_values - 1)}.")
    return [*notes, NO_CURVE] if _lacks_curve(answers) else notes


def _lacks_curve(answers: Answers) -> bool:
    """Whether it has rounds of which nothing was measured."""
    has_none = answers.is_additive or answers.is_ratio or answers.is_ensemble
    return answers.adds_up and not (has_none or answers.estimator.evals_result_)


def _is_explored(answers: Answers) -> bool:
    """Whether it is a tree, or a forest of trees that predict by themselves, of splits along the axes."""
    is_oblique = hasattr(type(answers.estimator), "model_of_planes")
    return not (answers.adds_up or is_oblique)


def _outlines(answers: Answers, tree: int) -> tuple[list[OutlinedTree], str]:
    """The trees that a page shows in words, and what these mean."""
    if answers.is_additive:
        return [], ""
    if not answers.adds_up:
        return [outline_of_planes(answers)], HINT_OF_PLANES
    check_number(tree, len(answers.estimator.forest_))
    return outlines_of_rounds(answers, tree), HINT_OF_WEIGHTS if answers.is_ratio else HINT_OF_ROUNDS


NO_CURVE = "No rows were set apart whose loss after each round were known: fit with early_stopping, or with eval_set."

HINT_OF_ROUNDS = (
    "What each node adds to the score of a row that ends there, or of those below it in the mean: blue more, orange "
    "less. The score of a row is the start and what all trees add."
)
HINT_OF_WEIGHTS = (
    "The score of a leaf, or of those below a node in the mean by their weights: blue above 0, orange below. The score "
    "of a row is the mean over the trees by the weights of the leaves that it reaches."
)
HINT_OF_PLANES = (
    "A node asks on which side of a plane a row lies: here are the greatest terms. Columns are scaled to mean 0 and "
    "deviation 1, or q(column) to their quantiles; category and missing value count 1 where they are so."
)


def render(template: str, told: dict[str, Any], *, of_tree: bool = False, of_terms: bool = False, **facts: Any) -> str:
    """Returns a page from its template, from what its script is told, and from what the template asks for.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    parts = [*(TREE_SCRIPTS if of_tree else ()), *(TERM_SCRIPTS if of_terms else ())]
    names = [*SHARED_SCRIPTS, *parts, "finish"]
    script = "\n".join(asset(f"{name}.js") for name in names)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template_of(template).render(
        style=asset("page.css"), script=script, script_hash=digest, data=_as_json(told), **facts
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
    markup = import_extra("markupsafe", "to_html", "plot")  # which jinja2 brings
    environment.filters["breakable"] = lambda text: markup.escape(text).replace("_", markup.Markup("_<wbr>"))
    return environment.get_template(name)


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
