"""Scorers by name of what scikit-learn has none for: they take extras of rows, such as groups and events.

Extras reach them where a search or cross-validation of jaxtree hands on what `fit` is given, and by scikit-learn's
routing of metadata, which they ask for.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.metrics import get_scorer

from jaxtree.dataset.arguments import EXTRAS
from jaxtree.errors import InvalidInputError
from jaxtree.metrics.ranking import mean_average_precision, mean_reciprocal_rank, ndcg
from jaxtree.sklearn_compat import MultimetricScorer, Scorer

OF_ORDER: dict[str, Callable[..., float]] = {
    "ndcg": ndcg,
    "map": mean_average_precision,
    "mrr": mean_reciprocal_rank,
}
"""Measures of order by name."""

WITH_PLACES = ("ndcg", "mrr")
"""Metrics in which the first rows of a group may count alone, as in "ndcg@5"."""

IN_WORDS = "'concordance', 'ndcg', 'map', 'mrr', 'ndcg@5', 'mrr@5' and the like"


class ScorerOfExtras(Scorer):
    """A scorer that takes extras of rows, with scikit-learn's routing of metadata and without it."""

    __metadata_request__score = dict.fromkeys(EXTRAS, True)

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None, **extras: Any) -> float:
        """Scores an estimator on rows.

        Args:
            estimator: A fitted estimator.
            X: A table.
            y_true: Its target.
            sample_weight: The weight of every row.
            extras: Further data of rows: `group` for measures of order, `event` or `upper` for concordance.
        """
        return self._score(None, estimator, X, y_true, sample_weight=sample_weight, **extras)

    def _score(
        self, method_caller: Any, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None, **extras: Any
    ) -> float:
        return vars(self)["_score_func"](estimator, X, y_true, sample_weight, extras)


class WithoutExtras:
    """A scorer of scikit-learn beside those of extras: it gets none; nor weights that it does not take.

    Args:
        scorer: The scorer.
    """

    def __init__(self, scorer: Callable[..., Any]):
        self.scorer = scorer

    def _accept_sample_weight(self) -> bool:
        """Answers scikit-learn, which gives weights to those of several scorers that take them."""
        return takes_weights(self.scorer)

    def __repr__(self) -> str:
        """The name of the scorer."""
        return repr(self.scorer)

    def __call__(self, estimator: Any, X: Any, y_true: Any, **given: Any) -> Any:
        """Scores an estimator on rows."""
        own = {
            name: values for name, values in given.items() if name == "sample_weight" and self._accept_sample_weight()
        }
        return self.scorer(estimator, X, y_true, **own)


def scorer(name: str) -> ScorerOfExtras:
    """Returns a scorer of survival times or of order, for searches of jaxtree and, with its routing, of scikit-learn.

    Args:
        name: "concordance" of models of survival times; "ndcg", "map" (mean average precision) or "mrr" (mean
            reciprocal rank) of rows in groups; "ndcg@5" and "mrr@5" count the first five rows of every group.

    Raises:
        InvalidInputError: There is none of that name.

    Example:
        >>> from sklearn.dummy import DummyRegressor
        >>> model = DummyRegressor().fit([[0], [1]], [0, 1])
        >>> scorer("mrr")(model, [[0], [1]], [0, 1], group=[7, 7])
        0.75
    """
    found = scorer_or_none(name)
    if found is None:
        raise InvalidInputError(f"scorers of survival times and of order are {IN_WORDS}, got {name!r}")
    return found


def scorer_or_none(name: Any) -> ScorerOfExtras | None:
    """Returns a scorer of extras; None if there is none of that name.

    >>> scorer_or_none("r2"), scorer_or_none("ndcg@0")
    (None, None)
    """
    if name == "concordance":
        return ScorerOfExtras(_concordance, 1, {}, "predict")
    kind, at, places = name.partition("@") if isinstance(name, str) else (name, "", "")
    is_number = places.isascii() and places.isdecimal() and int(places) > 0
    if kind not in OF_ORDER or (at and not (kind in WITH_PLACES and is_number)):
        return None
    more = (("k", int(places)),) if at else ()
    return ScorerOfExtras(functools.partial(_order, name=name, kind=kind, more=more), 1, {}, "predict")


def shown_score(metric: str, score: Any) -> Any:
    """Returns scores as they are shown: of a loss, whose scorer begins with "neg_", the loss, and never minus 0.

    >>> shown_score("neg_log_loss", -0.5), shown_score("accuracy", 0.75)
    (0.5, 0.75)
    """
    return 0 - score if metric.startswith("neg_") else score


def metric_in_words(metric: str) -> str:
    """Returns the name of what a scorer measures, without a sign.

    >>> metric_in_words("neg_log_loss")
    'log loss'
    """
    return metric.removeprefix("neg_").replace("_", " ")


def with_own_names(scoring: Any) -> Any:
    """Returns the `scoring` of a search with scorers in the place of names that scikit-learn does not know.

    Raises:
        InvalidInputError: It is, or has, a metric of targets and predictions, which is no scorer.
    """
    if isinstance(scoring, str):
        return scorer_or_none(scoring) or scoring
    if isinstance(scoring, list | tuple | set):
        found = {name: scorer_or_none(name) for name in scoring}
        return {name: own or name for name, own in found.items()} if any(found.values()) else scoring
    if isinstance(scoring, Mapping):
        return {name: with_own_names(own) for name, own in scoring.items()}
    if callable(scoring) and not takes_places(scoring, 3):
        name = getattr(scoring, "__name__", type(scoring).__name__)
        raise InvalidInputError(
            f"scoring must be names or scorers, functions of an estimator, a table and its target, got {name}, which "
            f"does not take these three: give sklearn.metrics.make_scorer({name}), with greater_is_better=False if it "
            "is better if smaller"
        )
    return scoring


def takes_extras(scoring: Any) -> bool:
    """Returns whether any scorer of a search takes extras."""
    own = with_own_names(scoring)
    several = own.values() if isinstance(own, Mapping) else [own]
    return any(isinstance(one, ScorerOfExtras) for one in several)


def apart(scorers: Any) -> Any:
    """Returns several scorers, of which those of scikit-learn get no extras, and some no weights, if others do."""
    if not isinstance(scorers, MultimetricScorer):
        return scorers
    of_names: Any = vars(scorers)["_scorers"]
    have_extras = any(isinstance(own, ScorerOfExtras) for own in of_names.values())
    vars(scorers)["_scorers"] = {
        name: own if isinstance(own, ScorerOfExtras) or (takes_weights(own) and not have_extras) else WithoutExtras(own)
        for name, own in of_names.items()
    }
    return scorers


def takes_weights(scorer: Any) -> bool:
    """Returns whether a scorer takes the weights of rows, or any of several does.

    Args:
        scorer: A name, a scorer, several in a list or dict, or None for the estimator's `score`.

    >>> [takes_weights(scoring) for scoring in (None, "r2", "neg_max_error", ["neg_max_error", "r2"])]
    [True, True, False, True]
    """
    if scorer is None:
        return True
    if isinstance(scorer, str):
        return takes_weights(scorer_or_none(scorer) or get_scorer(scorer))
    if isinstance(scorer, list | tuple | set | Mapping):
        return any(map(takes_weights, scorer.values() if isinstance(scorer, Mapping) else scorer))
    known = getattr(scorer, "__dict__", {})
    if "_scorers" in known:
        return takes_weights(known["_scorers"])
    if "_estimator" in known:  # what scikit-learn makes of None
        return takes(known["_estimator"].score, "sample_weight")
    return takes(known.get("_score_func", scorer), "sample_weight")


def takes_places(function: Callable[..., Any], number: int) -> bool:
    """Returns whether a function may be called with a number of arguments by place; one that does not tell may.

    >>> takes_places(lambda target, predicted: 0, 2), takes_places(lambda target, predicted: 0, 3)
    (True, False)
    """
    try:
        inspect.signature(function).bind(*[None] * number)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def takes(function: Callable[..., Any], name: str) -> bool:
    """Returns whether a function has a keyword; one that does not tell has none.

    >>> takes(sorted, "key"), takes(sorted, "weight")
    (True, False)
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    own = parameters.get(name)
    if own is not None:
        return own.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(parameter.kind == inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())


def _concordance(estimator: Any, X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any]) -> float:
    if getattr(estimator, "score_name_", None) != "concordance":
        raise InvalidInputError(
            "'concordance' scores models of survival times, of loss='cox' or 'accelerated_failure_time'; this one is "
            f"scored by {getattr(estimator, 'score_name_', 'accuracy')}"
        )
    return estimator.score(X, y, sample_weight=sample_weight, **extras)


def _order(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    extras: Mapping[str, Any],
    *,
    name: str,
    kind: str,
    more: tuple[tuple[str, int], ...],
) -> float:
    if extras.get("group") is None:
        raise InvalidInputError(f"{name!r} needs group, the group of every row, got None")
    offset = {} if extras.get("offset") is None else {"offset": extras["offset"]}
    predicted = estimator.predict(X, **offset)
    return OF_ORDER[kind](y, predicted, group=extras["group"], sample_weight=sample_weight, **dict(more))
