"""Losses by name: those that estimators know, and what other libraries call them."""

from collections.abc import Callable, Mapping
from typing import Any

from jaxtree.errors import InvalidInputError
from jaxtree.losses.cox import cox
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.numbers import absolute, gamma, poisson, squared, tweedie
from jaxtree.losses.robust import huber, pseudo_huber
from jaxtree.losses.survival import accelerated_failure_time

LOSSES: dict[str, Callable[[], BaseLoss]] = {
    "squared_error": squared,
    "absolute_error": absolute,
    "huber": huber,
    "pseudo_huber": pseudo_huber,
    "poisson": poisson,
    "gamma": gamma,
    "tweedie": tweedie,
    "cox": cox,
    "accelerated_failure_time": accelerated_failure_time,
}
"""The losses of numbers that have names."""

_QUANTILE = "jaxtree.boosting.quantile(level), such as quantile(0.9)"
_SYNONYMS = {
    "'squared_error'": ("ls", "mse", "rmse", "l2", "regression", "squared", "squarederror", "mean_squared_error"),
    "'absolute_error'": ("lad", "mae", "l1", "absolute", "absoluteerror", "regression_l1", "mean_absolute_error"),
    "'pseudo_huber'": ("pseudohubererror", "pseudohuber"),
    "'poisson'": ("count", "poisson_deviance"),
    "'gamma'": ("gamma_deviance",),
    "'tweedie'": ("tweedie_deviance",),
    "'cox'": ("coxph", "survival", "partial_likelihood"),
    "'accelerated_failure_time'": ("aft", "survivalaft", "weibull_aft"),
    _QUANTILE: ("quantile", "pinball", "quantileerror"),
    "jaxtree.boosting.quantiles(levels), such as quantiles([0.1, 0.9])": ("quantiles", "multiquantile"),
    "jaxtree.boosting.expectile(level), such as expectile(0.9)": ("expectile",),
    "a GradientBoostingClassifier": (
        *("log_loss", "logloss", "logistic", "binary", "deviance", "crossentropy", "cross_entropy", "softmax"),
        *("multi_class", "multiclass", "softprob", "binary_crossentropy", "exponential"),
    ),
    "a GradientBoostingRanker": ("ndcg", "map", "pairwise", "lambdarank", "lambdamart", "rank_xendcg", "yetirank"),
    "a GradientBoostingDistribution": ("normal", "gaussian", "nll", "crps", "lognormal", "student_t", "laplace"),
    "'ndcg'": ("lambdarank", "lambdamart", "rank_xendcg", "yetirank"),
    "'pairwise'": ("ranknet", "pairlogit"),
    "'normal'": ("gaussian", "norm"),
    "'student_t'": ("t", "studentt", "student"),
}


METRICS = {
    "neg_root_mean_squared_error": ("rmse", "l2_root", "root_mean_squared_error"),
    "squared_error": ("mse", "l2", "mean_squared_error", "regression"),
    "absolute_error": ("mae", "l1", "mean_absolute_error"),
    "neg_mean_absolute_percentage_error": ("mape", "mean_absolute_percentage_error"),
    "neg_root_mean_squared_log_error": ("rmsle",),
    "r2": ("rsquared", "r2_score"),
    "roc_auc": ("auc", "auc_mu"),
    "average_precision": ("aucpr", "prauc", "average_precision_score"),
    "accuracy": ("error", "merror", "binary_error", "multi_error", "acc", "accuracy_score"),
    "f1": ("f1_score", "totalf1"),
    "poisson": ("poisson_nloglik", "poisson_nll"),
    "gamma": ("gamma_nloglik", "gamma_deviance"),
    "cox": ("cox_nloglik",),
    "accelerated_failure_time": ("aft_nloglik",),
}
"""The names in other libraries of losses and scorers that measure a model."""

_LOG_LOSSES = ("logloss", "mlogloss", "binary_logloss", "multi_logloss", "cross_entropy", "log_loss", "multiclass")


def hint_for_metric(given: str) -> str:
    """Returns what to write in place of another library's name of a metric, or "".

    >>> hint_for_metric("auc"), hint_for_metric("binary_logloss"), hint_for_metric("NDCG@10")
    (": it is 'roc_auc' here", ': the log loss of classes is always measured', ': rankers measure it by ndcg_at')
    """
    plain = given.lower().rsplit(":", 1)[0].replace("-", "_").replace(" ", "_")
    if plain in _LOG_LOSSES:
        return ": the log loss of classes is always measured"
    if plain.partition("@")[0] in ("ndcg", "map", "lambdarank", "pfound"):
        return ": rankers measure it by ndcg_at"
    ours = next((name for name, theirs in METRICS.items() if plain in theirs), None)
    return f": it is {ours!r} here" if ours else ""


def check_name(owner: str, parameter: str, given: Any, known: Mapping[str, Any]) -> None:
    """Raises InvalidInputError of the name of a loss that is not known, with the way to what it may mean.

    Args:
        owner: The class of the estimator.
        parameter: The name of the parameter.
        given: Its value.
        known: The losses that have names.

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
    ways = [way for way, names in _SYNONYMS.items() if plain in (*names, way.strip("'"))]
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
