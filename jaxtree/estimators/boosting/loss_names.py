"""Hints for the names that other libraries give to losses and metrics."""

from collections.abc import Collection
from typing import Any

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.peers import our_metric, peers


def hint_for_metric(given: str) -> str:
    """Returns what to write in place of another library's name of a metric, or "".

    >>> hint_for_metric("auc"), hint_for_metric("binary_logloss"), hint_for_metric("NDCG@10")
    (": it is 'roc_auc' here", ': the log loss of classes is always measured', ': rankers measure it by ndcg_at')
    """
    ours = our_metric(given)
    if ours is None:
        return ""
    return f": {peers().metrics_elsewhere.get(ours, f'it is {ours!r} here')}"


def check_name(owner: str, parameter: str, given: Any, known: Collection[str]) -> None:
    """Raises InvalidInputError of the name of a loss that is not known, with the way to what it may mean.

    Args:
        owner: The class of the estimator.
        parameter: The name of the parameter.
        given: Its value.
        known: The losses that have names.

    >>> from jaxtree.losses.names import LOSSES
    >>> check_name("GradientBoostingRegressor", "loss", "reg:squarederror", LOSSES)
    Traceback (most recent call last):
        ...
    jaxtree.errors.InvalidInputError: The 'loss' parameter of GradientBoostingRegressor must be a str among
    {'absolute_error', 'accelerated_failure_time', 'cox', 'gamma', 'huber', 'poisson', 'pseudo_huber', 'squared_error',
    'tweedie'} or a loss of jaxtree.boosting, got 'reg:squarederror'; that is 'squared_error' here
    """
    if not isinstance(given, str) or given in known:
        return
    plain = given.lower().rsplit(":", 1)[-1].replace("-", "_").replace(" ", "_")
    ways = [way for way, names in peers().losses.items() if plain in (*names, way.strip("'"))]
    fitting = [way for way in ways if way.strip("'") in known]
    ways = fitting or [way for way in ways if not way.startswith("'") and owner not in way]
    for family in ("ExplainableBoosting", "SoftTree", "SoftForest"):
        if owner.startswith(family):
            article = "an" if family.startswith("E") else "a"
            ways = [way.replace("a GradientBoostingC", f"{article} {family}C") for way in ways]
    hint = f"; that is {ways[0]} here" if ways else ""
    raise InvalidInputError(
        f"The {parameter!r} parameter of {owner} must be a str among {{{', '.join(map(repr, sorted(known)))}}} or a "
        f"loss of jaxtree.boosting, got {given!r}{hint}"
    )
