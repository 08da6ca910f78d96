"""Names of what an estimator predicts: its classes, its quantiles, or the numbers of its outputs."""

from collections.abc import Sequence
from typing import Any

from sklearn.base import is_classifier

from jaxtree.errors import InvalidInputError
from jaxtree.losses.loss import Loss
from jaxtree.losses.predicted import PARAMETERS
from jaxtree.tree.kinds import ModelKind, kind_of, unit_of
from jaxtree.tree.link import Link, ScoreLink


def class_labels(estimator: Any) -> list[str]:
    """Returns the names of the classes that an estimator predicts; none of numbers."""
    return [str(name) for name in estimator.classes_] if is_classifier(estimator) else []


def link_of(estimator: Any) -> ScoreLink | None:
    """Returns the link of a model whose trees or terms add up to scores; None of any other."""
    kind = kind_of(estimator)
    return estimator.model_.link if kind is not None and kind.adds_up else None


def place_of_class(names: Sequence[str], chosen: Any) -> int:
    """Returns the place of a class among the names of all.

    Raises:
        InvalidInputError: There is no such class.

    >>> place_of_class(["no", "yes"], "yes")
    1
    """
    if str(chosen) not in names:
        allowed = ", ".join(names) or "none, since numbers are predicted"
        raise InvalidInputError(f"of_class must be one of {allowed}, got {chosen!r}")
    return names.index(str(chosen))


def output_labels(estimator: Any, number: int) -> list[str]:
    """Returns the names of the columns of predictions: classes, quantiles, or "output 0" and so on.

    Args:
        estimator: A fitted estimator.
        number: How many columns there are.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> output_labels(DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"]), 2)
        ['no', 'yes']
    """
    names = class_labels(estimator)
    if names:
        return names
    if kind_of(estimator) == ModelKind.MOMENT:
        return estimator.names_of_predictions()
    loss = estimator.score_loss
    levels = dict(loss.parameters).get("levels", ()) if isinstance(loss, Loss) else ()
    return [f"quantile {levels[place]:g}" if place < len(levels) else f"output {place}" for place in range(number)]


def score_labels(estimator: Any, number: int) -> tuple[list[str], str]:
    """Returns the names of what trees or terms add up to, one empty word of one, and its unit in words.

    Args:
        estimator: A fitted estimator.
        number: How many scores, classes or means there are.
    """
    link, loss, names = link_of(estimator), estimator.score_loss, class_labels(estimator)
    if names:
        unit = "probability" if link is None else "log odds" if link.kind == Link.LOGISTIC else "score"
        return (names[1:] if number == 1 and len(names) == 2 else names), unit
    unit = "prediction" if link is None or link.kind == Link.IDENTITY else "score"
    if kind_of(estimator) == ModelKind.MOMENT:
        return (estimator.names_of_predictions() if number > 1 else [""]), unit_of(estimator)
    if number == 1:
        return [""], unit
    known = [own for own, _ in PARAMETERS.get("" if loss is None else loss.name, ())]
    return [
        known[place] if place < len(known) else name for place, name in enumerate(output_labels(estimator, number))
    ], unit
