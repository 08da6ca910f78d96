"""The cells that are no comparison with what a model predicts.

`REFUSED` has what a model cannot do: uses, models, and a piece of the words in which the error tells the user why.
`FAILING` has what ought to work and does not: its tests are strict expected failures, so that who mends the cause sees
them pass, and deletes the line. All cells that stand in neither are compared with `predict` by `uses.py`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tests.together.models import EFFECTS_BY_NAME, LEAVES_BY_NAME, SOFT_BY_NAME, SPELLINGS, TREES_BY_NAME


class Outcome(NamedTuple):
    """Cells of one outcome.

    Attributes:
        uses: Uses by name.
        models: Models by name.
        reason: A regular expression that the error matches, or what is wrong.
    """

    uses: Iterable[str]
    models: Iterable[str]
    reason: str


PROGRAMS = ("SQLite", "DuckDB", "ONNX", "C", "jax.export")
FORMS = (*PROGRAMS, "treelite", "scikit-learn", "data frame")
EXPLANATIONS = ("explanation", "Shapley values", "Shapley charts")

PLANES = ("hardened", "hardened numbers")
BY_LEAF = ("hardened forest by leaf", "hardened forest by leaf, numbers")
HARDENED = (*PLANES, *BY_LEAF, "hardened, along the axes", "hardened forest")
SOFT = tuple(name for name in SOFT_BY_NAME if name not in HARDENED)
OF_PLANES = ("soft forest", "soft forest of numbers")
"""Soft forests that have no hard form."""
MEASURED = (
    *("boosted, measured", "boosted, stopped early"),
    *("boosted folds", "boosted folds of numbers", "boosted folds, measured"),
    *SOFT,
    "search of soft",
)
"""Models that know their losses after each round or epoch."""
ONE_TREE = (*TREES_BY_NAME, *PLANES, "hardened, along the axes", "search of trees", "tree of scikit-learn")
ADDITIVE_OF_TWO_CLASSES = (
    *("additive", "additive, of arrays", "additive, columns 0, 1, 2", "additive, changed by hand", "tuned additive"),
)
OTHER_LINKS = ("quantiles", "lognormal", "distribution as loss", *EFFECTS_BY_NAME)
"""Models that predict from their scores what treelite has no link for."""

OF_WORDS = tuple(
    set(ONE_TREE) - {*PLANES, "tree of arrays", "tree of scikit-learn", "tree of two outputs", "tree of two numbers"}
)
"""Single trees of tables with columns of words."""

REFUSED = (
    Outcome(("page",), ("policy",), "rewards of all actions are no targets"),
    Outcome(("page", *EXPLANATIONS, *FORMS), ("tree of two outputs", "tree of two numbers"), "must have one output"),
    Outcome(("dependence",), ("tree of two outputs",), "one output of classes"),
    Outcome(("scores",), ("tree of two outputs",), "multiclass-multioutput is not supported"),
    Outcome(("text", "drawing"), set(SPELLINGS) - {*ONE_TREE, *SOFT, "search of soft"}, "must be a single tree"),
    Outcome(("text", "drawing", *FORMS), (*SOFT, "search of soft"), "harden"),
    Outcome(("page",), OF_PLANES, "harden"),
    Outcome(("scikit-learn",), set(SPELLINGS) - {*ONE_TREE, *SOFT, "search of soft"}, "must be a single tree"),
    Outcome(("scikit-learn",), OF_WORDS, "scikit-learn's trees read numbers, and columns such as"),
    Outcome(("treelite", "scikit-learn"), PLANES, "splits by planes: its forms are"),
    Outcome(("treelite",), OTHER_LINKS, "these trees have another"),
    Outcome(("treelite",), BY_LEAF, "divides by the weights of leaves|divides by their weights"),
    Outcome(("scorecard",), set(SPELLINGS) - {*ADDITIVE_OF_TWO_CLASSES}, "a scorecard is of"),
    Outcome(("page", *EXPLANATIONS), ("soft forest of weights",), "mixture='learned', have no hard form"),
    Outcome(EXPLANATIONS, OF_PLANES, "a forest of oblique gates is not hardened: take gate='hard'"),
    Outcome(("importances",), (*SOFT, *PLANES, "search of soft"), "is of splits on columns, which"),
    Outcome(("importances",), BY_LEAF, "divides by the weights of leaves: give kind=.splits"),
    Outcome((*PROGRAMS, "treelite", "data frame", "explanation"), LEAVES_BY_NAME, "from the rows that its leaves keep"),
    Outcome(("page",), ("moment forest",), "takes X and no y: nobody observes parameters"),
    Outcome(("file",), ("moment forest",), "estimators of these classes are saved"),
    Outcome(("scores",), ("moment forest",), "has no score of its own"),
    Outcome(("page",), EFFECTS_BY_NAME, "takes X and no y: nobody observes effects"),
    Outcome(("Shapley values",), (*EFFECTS_BY_NAME, *LEAVES_BY_NAME), "where predictions are sums over trees"),
    Outcome(("learning curve",), set(SPELLINGS) - set(MEASURED), "has no learning curve: give a soft tree"),
)

FAILING: tuple[Outcome, ...] = ()

FAST = (
    *("tree", "tree of arrays", "tree of columns 0, 1, 2", "tree of two outputs", "C4.5", "small forest"),
    "boosted, two classes",
    *("boosted folds", "ensemble", "search of trees", "additive, changed by hand", "hardened", "soft forest by leaf"),
    *("hardened forest by leaf", "causal forest", "boosted, of XGBoost"),
)
"""Models that differ in what their uses do; the others are for the slow step."""


def refusal(name: str, use: str) -> str | None:
    """The piece of the error's words of a cell that is refused."""
    return _reason(REFUSED, name, use)


def fault(name: str, use: str) -> str | None:
    """The fault of a cell that fails."""
    return _reason(FAILING, name, use)


def _reason(outcomes: Iterable[Outcome], name: str, use: str) -> str | None:
    found = [own.reason for own in outcomes if use in own.uses and name in own.models]
    assert len(found) <= 1, f"several outcomes of {name}, {use}: {found}"
    return found[0] if found else None
