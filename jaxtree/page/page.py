"""The page: its arguments, its parts where the model and the rows have them, and the template."""

import base64
import contextlib
import hashlib
import inspect
import itertools
import json
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from jaxtree.errors import InvalidInputError, InvalidTypeError, import_extra
from jaxtree.estimators.common.extras import loss_in_words
from jaxtree.estimators.common.peers import hint_for_argument
from jaxtree.explain.hard_forms import hard_form
from jaxtree.export.models import best_of_search
from jaxtree.figures.importances import MOST_COLUMNS, importances_of
from jaxtree.files.pages import Page
from jaxtree.page.cards import Card, bars_by_name, widths_of_cards
from jaxtree.page.described import DataCard, data_card
from jaxtree.page.effects import HINT_OF_TREE, check_takes_no_target, effect_cards, facts, notes, small_trees
from jaxtree.page.explained import banded_importance_card, dependence_cards, explained_rows, listed_rows, summary_cards
from jaxtree.page.model import PageModel, PageTable, name_of_target, page_model, read_table
from jaxtree.page.quality import CARDS_OF, forest_cards, learning_cards
from jaxtree.page.scores import Fact, fact_of_score, soft_facts
from jaxtree.page.terms import terms_to_json
from jaxtree.page.trees import (
    MOST_TREES,
    OutlinedTree,
    ShownTree,
    check_number,
    outline_of_planes,
    outlines_of_trees,
    page_data,
    rows_of_tree,
    shown_tree,
)
from jaxtree.switches import by_own
from jaxtree.table.numerals import score_in_words
from jaxtree.tree.kinds import ModelKind, Prediction

SHARED_SCRIPTS = ("elements", "text", "readout", "plot", "list", "grid", "parallel", "cards", "rows", "outlines")
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
    bands: Any = None,
    **extras: Any,
) -> Page:
    """Returns one interactive page of a fitted model; it needs no network, nor other files.

    The page is a text that a notebook shows in a frame; `page.save("model.html")` writes it, `page.open()` shows it
    in the browser.

    It has how right the model is on the given rows: of classes the confusion matrix, ROC curves and calibration; of
    numbers residuals; of distributions how many targets their intervals hold; of survival times concordance, and
    curves of groups by risk beside Kaplan and Meier's; of ranks NDCG by group. It has what counts: importances,
    Shapley values, and how probabilities or means depend on each of the most important columns. And it has rows one by
    one, with what each column contributes to the prediction of a row. Large tables are drawn by some of their
    rows, which are spread over them; the page says so.

    A tree can be walked through by mouse or keyboard; sliders prune it (cost complexity, depth, and a draw of dropout)
    with the accuracy that follows. Rows whose missing value is shared out among branches count with their parts.
    Additive models have their terms, sorted and to be searched: curves with intervals over the density of the rows, and
    surfaces of pairs. A row's values can be changed there, and its sum follows; changes by hand are listed.
    A soft tree or forest is shown by the hard one that it hardens to; the head says how right the soft one is, and for
    how many rows both predict the same.
    Boosted trees have the losses of all evaluations round by round, and what the nodes of some trees add; forests the
    error by the number of trees, also out of bag, and one tree; hardened trees the greatest terms of their planes.

    Args:
        estimator: A fitted tree of one output, a forest, boosted trees, or a soft or hardened tree.
        X: The rows that it was fitted on. Without rows the page has what the model itself knows.
        y: Their target. Without it the page does not say how right the model is.
        X_val: Rows that it has not seen.
        y_val: Their target.
        title: The page's; the class of the estimator if not given.
        tree: Which tree of a forest is shown; of boosted trees the first of three.
        bands: The `bands` of an additive model, which its curves are drawn with in place of intervals from bags, or of
            boosted trees or a forest, whose dependences on columns then have them. With them the page has importances
            with their bands, and says which bands may hold less than they are to.
        extras: `sample_weight=`, the weight of every row of X; `groups=`, rows of which are alike, such as those of
            one patient, so that the intervals of scores draw them together; and what the loss of boosted trees asks
            for, such as `event=`, `group=` or `offset=`. With "_val" behind the names, such as `event_val=`, those of
            X_val. Rows of weight 0 are left out. The tree with sliders counts rows, and not their weights.

    Raises:
        InvalidInputError: The estimator has several outputs of classes, y is given without X, X_val or y_val is given
            alone, rows are not as in fit, all weights are 0, there is no such tree, or bands are of another model.
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
            raise InvalidInputError(f"{names} go together, got only one")
    shown = hard_form(estimator).estimator
    model = page_model(shown)
    if bands is not None:
        bands.check_is_of(estimator)
    model = model._replace(target=name_of_target(estimator, y, y_val))
    if not model.predicts.is_observed or getattr(shown, "learns_from_rewards", False):
        check_takes_no_target(model, y is not None or X_val is not None)
    seen, held = _extras_by_table(model, extras)
    given = (("training", X, y, seen), ("validation", X_val, y_val, held))
    tables = [own for table in given if (own := read_table(model, *table)) is not None]
    soft = [] if shown is estimator else soft_facts(estimator, model, given)
    return _render(model, tables, title, tree, soft, data_card(model, X, y, X_val, seen), bands)


def _extras_by_table(model: PageModel, extras: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The extras of the rows of X, and of those of X_val: weights, and what the loss of boosted trees asks for.

    Raises InvalidTypeError for an argument that a page of the model does not take.
    """
    known = [name + end for end in ("", "_val") for name in ("sample_weight", "groups", *model.extras)]
    for name in extras:
        if name not in known:
            hint = hint_for_argument(name, [*inspect.signature(to_html).parameters, *known], [])
            raise InvalidTypeError(
                f"to_html of a {type(model.estimator).__name__} takes no {name!r}{hint}; of every row it takes "
                f"{', '.join(known)}"
            )
    held = {name.removesuffix("_val"): values for name, values in extras.items() if name.endswith("_val")}
    return {name: values for name, values in extras.items() if not name.endswith("_val")}, held


def _render(
    model: PageModel,
    tables: list[PageTable],
    title: str | None,
    tree: int,
    facts: list[Fact],
    described: DataCard | None,
    bands: Any,
) -> Page:
    """The page of rows that are read, with further facts in its head, and the card of the data."""
    estimator, of_terms = model.estimator, model.kind == ModelKind.TERMS
    name = type(estimator).__name__
    tree_shown, explored = None, []
    if model.kind in (ModelKind.TREE, ModelKind.FOREST):
        tree_shown = shown_tree(estimator, tree)
        explored = [rows_of_tree(tree_shown, table) for table in tables if table.target is not None]
    trees, hint = _outlines(model, tree, tables) if model.kind != ModelKind.TREE else ([], "")
    groups, rows = page_parts(model, tables, bands, of_one_tree=tree_shown is not None and tree_shown.number is None)
    if bands is not None:
        groups.append(Group("bands", [banded_importance_card(bands)]))
    sent = page_data(tree_shown, explored) if tree_shown is not None else {}
    sent |= {"cards": {card.id: card.to_json() for own in groups for card in own.cards}, "rows": rows}
    if of_terms:
        sent["terms"] = terms_to_json(model, tables, bands)
    return render(
        "page.html",
        sent,
        of_tree=tree_shown is not None,
        of_terms=of_terms,
        title=name if title is None else title,
        estimator=name,
        parameters=parameters(estimator),
        summary=[*facts, *summary_of(model, tables, tree_shown)],
        tree_shown=tree_shown,
        terms=of_terms,
        edits=sent["terms"]["edits"] if of_terms else [],
        num_trees=0 if tree_shown is None or tree_shown.number is None else len(estimator.estimators_),
        importances=_columns_of_splits(estimator) if tree_shown is not None else [],
        has_sums=bool(explored) or bool(model.classes),
        has_rows=bool(explored),
        groups=groups,
        described=described,
        notes=_notes(model) + ([] if bands is None else bands.notes()),
        rows=rows,
        trees=trees,
        widths_of_trees=widths_of_cards(min(len(trees), MOST_TREES)),
        chosen_trees=_choice_of_trees(model, trees, tree),
        hint_of_trees=hint,
    )


class TreeChoice(NamedTuple):
    """The trees of a page of which three are shown at once.

    Attributes:
        first: The number of the first.
        last: The number of the last.
        words: Which trees they are, of how many.
    """

    first: int
    last: int
    words: str


def _choice_of_trees(model: PageModel, trees: list[OutlinedTree], first: int) -> TreeChoice | None:
    """The trees to choose from by their numbers; None where all are shown."""
    if len(trees) <= MOST_TREES:
        return None
    number, last = len(model.estimator.forest_), first + len(trees) - 1
    words = f"Trees {first} to {last} of {number:,} are in this page"
    if last + 1 < number:
        words += f"; to_html with tree={last + 1} begins at the next"
    return TreeChoice(first, last, f"{words}.")


def _notes(model: PageModel) -> list[str]:
    """Sentences about the model below its facts."""
    rare = [(column, column.rare_words) for column in model.schema.columns if column.rare_words is not None]
    said = [f"Column {column.name} {words.in_words(column.num_values - 1)}." for column, words in rare]
    if model.predicts == Prediction.EFFECTS:
        said += notes(model)
    if model.kind == ModelKind.BOOSTED and not model.estimator.evals_result_:
        said.append(NO_CURVE if model.estimator.ensemble_weights_ is None else NO_CURVE_OF_MEAN)
    return said


def _outlines(model: PageModel, tree: int, tables: list[PageTable]) -> tuple[list[OutlinedTree], str]:
    """The trees that a page shows in words, and what these mean."""
    if model.kind == ModelKind.TERMS:
        return [], ""
    if model.kind == ModelKind.MOMENT:
        return (small_trees(model, tables), HINT_OF_TREE) if model.predicts == Prediction.EFFECTS else ([], "")
    if model.kind == ModelKind.FOREST:
        return outlines_of_trees(model, tree), HINT_OF_FOREST
    if not model.adds_up:
        return [outline_of_planes(model)], HINT_OF_PLANES
    check_number(tree, len(model.estimator.forest_))
    return outlines_of_trees(model, tree), HINT_OF_WEIGHTS if model.kind == ModelKind.WEIGHTED else HINT_OF_ROUNDS


NO_CURVE = "No learning curve: fit with early_stopping or eval_set to record one."
NO_CURVE_OF_MEAN = "The model is a mean of models, which has no validation loss after each round."

HINT_OF_ROUNDS = (
    "Each node shows what it adds to the score of a row that ends there, or the mean of the leaves below it. Blue: "
    "more; orange: less. The score of a row is the start plus the additions of all trees."
)
HINT_OF_FOREST = (
    "Each node shows its prediction: the class with its share of the rows, or their mean. The forest predicts the mean "
    "of its trees."
)
HINT_OF_WEIGHTS = (
    "Each leaf shows its score, and each node the weighted mean of the leaves below it. Blue: above 0; orange: below. "
    "The score of a row is the mean over the trees, weighted by the leaves that it reaches."
)
HINT_OF_PLANES = (
    "A node tests on which side of a plane a row lies, and shows the largest terms of the plane. Columns are scaled to "
    "mean 0 and standard deviation 1, or q(column) to their quantiles; a category or a missing value counts 1 where it "
    "is so."
)


def render(template: str, sent: dict[str, Any], *, of_tree: bool = False, of_terms: bool = False, **facts: Any) -> Page:
    """Returns a page from its template, from what its script is sent, and from what the template asks for.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    parts = [*(TREE_SCRIPTS if of_tree else ()), *(TERM_SCRIPTS if of_terms else ())]
    names = [*SHARED_SCRIPTS, *parts, "finish"]
    script = "\n".join(asset(f"{name}.js") for name in names)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Page(
        template_of(template).render(
            style=asset("page.css"), script=script, script_hash=digest, data=_as_json(sent), **facts
        )
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


def _columns_of_splits(estimator: Any) -> list[dict[str, Any]]:
    """The columns that splits ask for with their importances, the largest first."""
    found = importances_of(estimator)
    named = zip(found.place, found.names, found.values.tolist(), strict=True)
    return [{"column": place, "name": name, "value": value} for place, name, value in named if value > 0]


FOLLOWS_SLIDERS = {"confusion", "roc", "predictions"}
"""Cards that the page of a single tree has beside its sliders."""


class Group(NamedTuple):
    """Cards that stand together.

    Attributes:
        name: Its name in the page.
        cards: The cards.
    """

    name: str
    cards: list[Card]

    @property
    def widths(self) -> list[int]:
        """How many sixths of a line every card takes."""
        return widths_of_cards(len(self.cards))


def page_parts(
    model: PageModel, tables: list[PageTable], bands: Any, *, of_one_tree: bool
) -> tuple[list[Group], list[dict[str, Any]]]:
    """Returns the cards of a page in groups, and its rows.

    Args:
        model: The model.
        tables: The rows.
        bands: The bands of the model; None without any.
        of_one_tree: Whether the page has a tree with sliders, whose charts need not be there twice.
    """
    explained = explained_rows(model, tables)
    judged = [table for table in tables if table.target is not None]
    of_effects = model.predicts == Prediction.EFFECTS
    quality = effect_cards(model, tables) if of_effects else _quality_cards(model, tables, judged)
    columns = [] if of_one_tree or model.kind == ModelKind.TERMS else _importance_cards(model)
    if tables and explained[-1] is not None:
        columns += summary_cards(model, tables[-1], explained[-1])
    if of_one_tree or len(columns) == 1 or len(quality) == 1:
        quality = [card for card in quality if not of_one_tree or card.id not in FOLLOWS_SLIDERS]
        quality, columns = [*quality, *columns], []
    # The values of terms already show how a prediction depends on columns.
    has_dependences = bool(tables) and model.kind != ModelKind.TERMS
    dependences = dependence_cards(model, tables[0], bands=bands) if has_dependences else []
    named = (("quality", quality), ("columns", columns), ("dependences", dependences))
    rows = [listed_rows(model, table, own) for table, own in zip(tables, explained, strict=True)]
    return [Group(name, cards) for name, cards in named if cards], rows


def _quality_cards(model: PageModel, tables: list[PageTable], judged: list[PageTable]) -> list[Card]:
    return [*_curves(model, tables), *(CARDS_OF[model.predicts](model, judged) if judged else [])]


def _curves(model: PageModel, tables: list[PageTable]) -> list[Card]:
    if model.kind == ModelKind.BOOSTED:
        return learning_cards(model)
    return forest_cards(model, tables) if model.kind == ModelKind.FOREST else []


def _importance_cards(model: PageModel) -> list[Card]:
    found = importances_of(model.estimator)
    number = int(np.count_nonzero(found.values > 0))
    if not number:
        return []
    named = [*zip(found.names[: min(number, MOST_COLUMNS)], found.values.tolist(), strict=False)]
    chart = bars_by_name("Importance of the columns", named)
    if number > MOST_COLUMNS:
        chart["caption"] = f"{number - MOST_COLUMNS} less important columns are not shown."
    hint = f"{found.meaning[0].upper()}{found.meaning[1:]}."
    return [Card("importances", "Importance of the columns", hint, {"": chart})]


def summary_of(model: PageModel, tables: list[PageTable], tree_shown: ShownTree | None) -> list[Fact]:
    """Returns the facts for the head of the page."""
    estimator = model.estimator
    of_forest = "" if tree_shown is None or tree_shown.number is None else "forest, "
    scores = [
        fact_of_score(model, table, f"{of_forest}{table.name} {estimator.score_name_}")
        for table in tables
        if table.target is not None
    ]
    out_of_bag = vars(estimator).get("oob_score_")  # which is there if it was asked for
    if isinstance(out_of_bag, float):
        scores.append(Fact(f"forest, out-of-bag {estimator.score_name_}", score_in_words(out_of_bag)))
    return [*_proof_in_words(estimator), *itertools.starmap(Fact, _sizes_in_words(model, tables, tree_shown)), *scores]


def _proof_in_words(estimator: Any) -> list[Fact]:
    """How good an optimal tree is proven to be; nothing of other models."""
    found = getattr(estimator, "optimality_", None)
    if found is None:
        return []
    limits = f"among all trees of at most {estimator.max_depth} levels of splits"
    if found == "proven":
        return [Fact("this tree is", "proven best", limits)]
    if found == "proven on bins":
        return [Fact("this tree is", "proven best on bins", f"{limits}, by the thresholds compared")]
    return [Fact("this tree is", f"within {found:.1%} of the best", f"{limits}: the search ended before the proof")]


def _sizes_in_words(model: PageModel, tables: list[PageTable], tree_shown: ShownTree | None) -> list[tuple[str, str]]:
    """The names and values of all but the scores."""
    estimator = model.estimator
    said = [("target", _target_in_words(model))] if model.target and model.predicts.is_observed else []
    said += [("loss", loss_in_words(estimator))] if model.adds_up else []
    if model.predicts == Prediction.EFFECTS:
        return [*facts(model), *((name, f"{number:,}") for name, number in _sizes(model))]
    said += [(f"{table.name} rows", f"{len(table.values):,}") for table in tables]
    if tree_shown is not None and not any(table.name == "training" for table in tables):
        said.insert(0, ("training rows", f"{int(tree_shown.tree.num_rows[0]):,}"))
    return [*said, *((name, f"{number:,}") for name, number in _sizes(model))]


FEW_CLASSES, FEW_LETTERS = 4, 40
"""Classes that the head of a page names, and the letters of their names."""


def _target_in_words(model: PageModel) -> str:
    """The target's name, with the classes where they are few.

    >>> _target_in_words(PageModel(None, None, ["bad", "good"], "credit"))
    'credit: bad, good'
    """
    names = ", ".join(model.classes)
    is_short = 0 < len(model.classes) <= FEW_CLASSES and len(names) <= FEW_LETTERS
    return f"{model.target}: {names}" if is_short else model.target


def _sizes(model: PageModel) -> list[tuple[str, int]]:
    estimator = model.estimator
    sizes = [("columns", len(model.schema.columns))]
    if model.classes:
        sizes.append(("classes", len(model.classes)))
    if model.kind == ModelKind.TERMS:
        layout = estimator.additive_.layout
        sizes += [("terms", layout.num_terms), ("pairs", int((layout.features[:, 1] >= 0).sum()))]
        return [*sizes, ("bags", len(estimator.bag_values_))]
    if model.kind.is_one_tree:
        tree = estimator.tree_
        return [*sizes, ("nodes", tree.node_count), ("leaves", tree.n_leaves), ("depth", int(np.max(tree.depth)))]
    if model.kind == ModelKind.BOOSTED and estimator.ensemble_weights_ is not None:
        sizes.append(("members", len(estimator.ensemble_weights_)))
    nodes = estimator.forest_.nodes
    return [*sizes, ("trees", len(estimator.forest_)), ("nodes", len(nodes.feature)), ("depth", int(nodes.depth.max()))]
