"""Scorers of scikit-learn, and functions of targets and predictions, on rows with weights or without some class."""

import copy
import difflib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.peers import MOST_ALIKE, our_metric
from jaxtree.metrics.scorers import IN_WORDS, OF_ORDER, scorer_or_none, takes, with_own_names
from jaxtree.sklearn_compat import MultimetricScorer, Scorer


class ScorerOfAllClasses(Scorer):
    """A scorer of probabilities that is told the classes of the estimator where rows have not all of them."""

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any) -> Any:
        """Scores rows; scikit-learn's log loss, say, refuses them if it is not told the classes."""
        classes = getattr(estimator, "classes_", None)
        if isinstance(classes, np.ndarray) and np.ndim(y_true) == 1:
            present = np.unique(np.asarray(y_true))
            # A class that the estimator does not know is left out here: it has no probability.
            if len(present) < len(classes) and np.isin(present, classes).all():
                kwargs = {"labels": classes, **kwargs}
        return super()._score(method_caller, estimator, X, y_true, **kwargs)


def of_all_classes(scorer: Any) -> Any:
    """Returns a scorer, or several, that score rows on which a class is absent; those that do anyway are as they were.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
        >>> round(of_all_classes(get_scorer("neg_log_loss"))(tree, [[1.0]], ["yes"]), 3)
        -0.0
    """
    if isinstance(scorer, MultimetricScorer):
        several = copy.copy(scorer)
        vars(several)["_scorers"] = {name: of_all_classes(own) for name, own in vars(scorer)["_scorers"].items()}
        return several
    if type(scorer) is not Scorer:
        return scorer
    known = vars(scorer)
    methods = known["_response_method"]
    of_labels = "predict" in ((methods,) if isinstance(methods, str) else methods)
    if of_labels or "labels" in known["_kwargs"] or not takes(known["_score_func"], "labels"):
        return scorer
    wide = copy.copy(scorer)
    wide.__class__ = ScorerOfAllClasses
    return wide


def scorer_named(name: str) -> Any:
    """Returns a scorer by its name.

    Raises:
        ValueError: There is none.
    """
    return scorer_or_none(name) or of_all_classes(get_scorer(name))


def scorers_of(scoring: Any) -> Any:
    """Returns the `scoring` of a search with scorers in the place of names that scikit-learn does not know.

    Raises:
        InvalidInputError: It is, or has, the name of no scorer; or a metric of targets and predictions, which is none.
    """
    several = [*scoring.values()] if isinstance(scoring, Mapping) else scoring
    for own in several if isinstance(several, list | tuple | set) else [several]:
        if isinstance(own, str):
            check_scorer_name(own)
    return with_own_names(scoring)


def check_scorer_name(name: str, *, takes_extras: bool = True) -> None:
    """Raises InvalidInputError if there is no scorer of a name; the message has the one that it may mean.

    Args:
        name: The name.
        takes_extras: Whether it may be one of the scorers that take extras of rows.

    >>> check_scorer_name("AUC", takes_extras=False)
    Traceback (most recent call last):
    jaxtree.errors.InvalidInputError: scoring must be a scorer of scikit-learn, such as accuracy, got 'AUC': it is
    'roc_auc' here
    """
    if name in get_scorer_names() or (takes_extras and scorer_or_none(name) is not None):
        return
    of_jaxtree = f" or of jaxtree, {IN_WORDS}," if takes_extras else ""
    hint = _hint_for_scorer(name, takes_extras=takes_extras)
    raise InvalidInputError(
        f"scoring must be a scorer of scikit-learn, such as accuracy,{of_jaxtree} got {name!r}{hint}"
    )


def _hint_for_scorer(name: str, *, takes_extras: bool) -> str:
    """The hint of an error about a scorer that is not known, or "".

    >>> [_hint_for_scorer(name, takes_extras=False) for name in ("mae", "log_loss", "acuracy", "beauty")]
    [": it is 'neg_mean_absolute_error' here", ": it is 'neg_log_loss' here", ": do you mean 'accuracy'?", '']
    """
    known = [*get_scorer_names(), *(("concordance", *OF_ORDER) if takes_extras else ())]
    plain = our_metric(name) or name.lower().replace("-", "_").replace(" ", "_")
    forms = (plain, f"neg_{plain}", f"neg_mean_{plain}", f"neg_mean_{plain}_deviance")
    meant = next((form for form in forms if form in known), None)
    if meant is not None:
        return f": it is {meant!r} here"
    close = difflib.get_close_matches(plain, known, 1, MOST_ALIKE)
    return f": do you mean {close[0]!r}?" if close else ""


def number_of_metric(name: str, value: Any) -> float:
    """Returns what a metric of the user's own has returned, as a number.

    Args:
        name: The argument and the metric.
        value: Its result.

    Raises:
        InvalidInputError: It is no number; NaN is one.

    >>> number_of_metric("eval_metric cost", np.float32(0.5))
    0.5
    """
    array = np.asarray(value) if hasattr(value, "__array__") or isinstance(value, int | float) else np.zeros(0)
    if array.size == 1 and array.dtype.kind in "biuf":
        return float(array.item())
    hint = ""
    if isinstance(value, tuple | list) and any(isinstance(own, int | float | np.number) for own in value):
        hint = "; the name and whether greater is better are no part of it here"
    raise InvalidInputError(f"{name} must return one number, got {value!r} of type {type(value).__name__}{hint}")


def weighted_if_taken(scores: Callable[..., Any], weight: Any) -> Callable[..., Any]:
    """Returns a scorer, or a function of targets and predictions, with the weights of rows if it takes any.

    Args:
        scores: A function of targets and predictions.
        weight: The weights; None for none.

    Example:
        >>> weighted_if_taken(lambda target, predicted: len(target), np.ones(2))([1, 0], [1, 1])
        2
    """
    function = vars(scores).get("_score_func", scores) if isinstance(scores, Scorer) else scores
    if weight is None or not takes(function, "sample_weight"):
        return scores
    return functools.partial(scores, sample_weight=weight)


def in_words(error: Exception) -> str:
    """Returns what scikit-learn says of a scorer that cannot score, with what may be given in its place.

    >>> in_words(ValueError("pos_label=1 is not a valid label"))[:61]
    'pos_label=1 is not a valid label. For classes other than 0 an'
    """
    if "multi_class must be" in str(error):
        return "there are more than two classes, which 'roc_auc_ovr' and 'roc_auc_ovo' score"
    if "pos_label" not in str(error):
        return str(error)
    return (
        f"{str(error).rstrip('.')}. For classes other than 0 and 1 the positive one must be named, as by "
        "sklearn.metrics.make_scorer(f1_score, pos_label=...), or all count alike, as in 'f1_macro'"
    )
