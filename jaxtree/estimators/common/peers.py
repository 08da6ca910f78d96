"""The names that other libraries give to parameters, arguments, attributes and losses.

They make the hint of an error where another library's name is given, and the table on the page of parameters.
"""

import difflib
import functools
import inspect
import tomllib
from collections.abc import Iterable
from importlib import resources
from typing import Any, NamedTuple, Self

from jaxtree.errors import InvalidTypeError

MOST_ALIKE = 0.65
"""How alike an argument must be to one that a method takes to be taken for it: 1 is the same."""

LIBRARIES = ("scikit-learn", "XGBoost", "LightGBM", "CatBoost", "EconML", "grf")


class Arguments(NamedTuple):
    """Arguments of methods in other libraries.

    Attributes:
        names: Their names.
        advice: The advice for each argument that a method, or the constructor of its class, has; the first counts.
    """

    names: list[str]
    advice: dict[str, str]


class Peers(NamedTuple):
    """The names in other libraries, as `peers.toml` has them.

    Attributes:
        parameters: By our name, those of each of `LIBRARIES` that has such a parameter, its first name in front.
        elsewhere: The advice for a parameter that has no counterpart, by its name.
        nowhere: Parameters for which there is nothing here.
        names: The advice for a class or function, by its name.
        arguments: Arguments of methods.
        losses: The names of a loss, by the way here.
        metrics: The names of a metric, by ours.
        metrics_elsewhere: Why nobody needs to name a metric in a fit, by our name.
    """

    parameters: dict[str, dict[str, list[str]]]
    elsewhere: dict[str, str]
    nowhere: frozenset[str]
    names: dict[str, str]
    arguments: list[Arguments]
    losses: dict[str, list[str]]
    metrics: dict[str, list[str]]
    metrics_elsewhere: dict[str, str]

    def names_of(self, ours: str) -> set[str]:
        """Returns the names of a parameter in all other libraries."""
        return {name for names in self.parameters.get(ours, {}).values() for name in names}


@functools.cache
def peers() -> Peers:
    """Returns the names in other libraries, which are read when the first error needs them."""
    text = resources.files("jaxtree.estimators.common").joinpath("peers.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    parameters = table["parameters"]
    return Peers(
        {ours: parameters[own] if isinstance(own, str) else own for ours, own in parameters.items()},
        _by_name(table["elsewhere"]),
        frozenset(table["nowhere"]["names"]),
        _by_name(table["names"]),
        [Arguments(**own) for own in table["arguments"]],
        table["losses"],
        table["metrics"],
        table["metrics_elsewhere"],
    )


def _by_name(names_of: dict[str, list[str]]) -> dict[str, str]:
    """The advice by name, from the names that share an advice."""
    return {name: advice for advice, names in names_of.items() for name in names}


ATTRIBUTES = {
    **dict.fromkeys(("get_booster", "booster_", "_Booster"), "the trees are forest_, and one by one estimators_"),
    **dict.fromkeys(("best_iteration", "get_best_iteration", "best_ntree_limit"), "it is best_iteration_ here, from 1"),
    **dict.fromkeys(("best_score", "get_best_score"), "it is best_score_ here"),
    **dict.fromkeys(
        ("evals_result", "get_evals_result", "train_score_", "validation_score_"), "it is evals_result_ here"
    ),
    **dict.fromkeys(("n_iter_", "tree_count_", "get_num_boosting_rounds"), "it is n_estimators_ here"),
    **dict.fromkeys(("feature_name_", "feature_names_"), "it is feature_names_in_, or schema_.column_names, here"),
    **dict.fromkeys(("get_feature_importance", "get_score", "feature_importance"), "it is jaxtree.importances here"),
    **dict.fromkeys(("get_dump", "trees_to_dataframe", "dump_model"), "it is jaxtree.to_dataframe(model) here"),
    **dict.fromkeys(("calc_leaf_indexes", "predict_leaf"), "it is apply here"),
    **dict.fromkeys(("save_model", "export_model"), "it is save(path) here"),
    "load_model": "it is jaxtree.load(path) here",
    "n_features_": "it is n_features_in_ here",
    "intercept_": "it is start_ here",
    "bagged_scores_": "they are bag_values_ here",
    "term_scores_": "they are additive_.values here, a bin of a term a row",
    "standard_deviations_": "they are additive_.errors here, a bin of a term a row",
    "bin_weights_": "they are additive_.weight here, a bin of a term a row",
    **dict.fromkeys(("shrink", "first"), "it is truncated(n_estimators) here"),
    "staged_decision_function": "it is staged_scores here",
    "get_all_params": "it is get_params here",
    "plot_tree": "it is jaxtree.plot.plot_tree(tree) here",
    **dict.fromkeys(("effect", "const_marginal_effect", "marginal_effect"), "it is predict of a CausalForest here"),
    **dict.fromkeys(
        ("effect_interval", "const_marginal_effect_interval"), "it is predict_interval of a CausalForest here"
    ),
    **dict.fromkeys(("prediction_stderr", "effect_inference"), "it is predict_std of a CausalForest here"),
    **dict.fromkeys(
        ("ate", "ate_", "ate_interval", "ate_inference", "ate__inference"),
        "it is average_treatment_effect of a CausalForest here",
    ),
    **dict.fromkeys(("att_", "att__inference"), "it is average_treatment_effect(target='treated') here"),
    **dict.fromkeys(("test_calibration",), "it is calibration_test of a CausalForest here"),
    "oob_predict": "a CausalForest has oob_prediction_",
    "is_fitted": "it is sklearn.utils.validation.check_is_fitted(model) here",
}
"""The names here of methods and attributes of other libraries' models."""


class CalledOtherwise:
    """An attribute of another library: access raises AttributeError, which has the name here."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Raises AttributeError."""
        own = type(owner) if kind is None else kind
        raise AttributeError(f"{own.__name__!r} object has no attribute {self._name!r}: {ATTRIBUTES[self._name]}")


def hint_for(name: str, own: list[str]) -> str:
    """Returns the hint of an error about a parameter that an estimator does not have, or "".

    Args:
        name: The parameter.
        own: The parameters of the estimator.

    >>> hint_for("l2_regularization", ["reg_lambda", "max_depth"])
    ': it is reg_lambda here'
    >>> hint_for("bagging_temperature", ["reg_lambda"])
    '; there is nothing like it here'
    >>> hint_for("max_deph", ["reg_lambda", "max_depth"])
    ': do you mean max_depth?'
    """
    known = peers()
    meant = [ours for ours in own if name in known.names_of(ours)]
    if meant:
        return f": it is {' or '.join(meant)} here"
    if name in known.elsewhere:
        return f": {known.elsewhere[name]}"
    if name in known.nowhere or any(name == ours or name in known.names_of(ours) for ours in known.parameters):
        return "; there is nothing like it here"
    close = difflib.get_close_matches(name, own, 1)
    return f": do you mean {close[0]}?" if close else f"; it has {', '.join(own)}"


def hint_for_argument(name: str, own: list[str], parameters: list[str]) -> str:
    """Returns the hint of an error about an argument that a method does not take, or "".

    Args:
        name: The argument.
        own: The arguments of the method.
        parameters: The parameters of its class.

    >>> hint_for_argument("evals", ["X", "y", "X_val"], ["max_depth"])
    ': give X_val and y_val'
    >>> hint_for_argument("evals", ["X", "y"], ["validation_size"])
    ': validation_size is the share of rows that every bag holds out'
    >>> hint_for_argument("cat_features", ["X", "y"], ["categorical_features"])
    ': make the estimator with categorical_features=cat_features'
    >>> hint_for_argument("seed", ["X", "y", "random_state"], [])
    ': it is random_state here'
    >>> hint_for_argument("evnt", ["X", "y", "event"], [])
    ': do you mean event?'
    """
    known = peers()
    for given in known.arguments:
        advice = next((way for needed, way in given.advice.items() if needed in (*own, *parameters)), None)
        if name in given.names and advice is not None:
            return f": {advice.format(name=name)}"
    of_own = [ours for ours in own if name in known.names_of(ours)]
    if of_own:
        return f": it is {of_own[0]} here"
    meant = [ours for ours in parameters if ours == name or name in known.names_of(ours)]
    if meant:
        return f": make the estimator with {meant[0]}=" + ("" if meant[0] == name else name)
    close = difflib.get_close_matches(name, own, 1, MOST_ALIKE)
    return f": do you mean {close[0]}?" if close else ""


def check_options(owner: str, given: Iterable[str], own: Iterable[str], estimator: Any) -> None:
    """Raises InvalidTypeError for an option that a search or another function does not take, with what is meant.

    Args:
        owner: The name of the function or class.
        given: The names of the options.
        own: The options that it takes.
        estimator: The estimator, or its class, whose parameters may be meant; None if there is none.

    >>> from jaxtree import DecisionTreeClassifier
    >>> check_options("tune", ["max_depth"], ["X", "y", "estimator"], DecisionTreeClassifier)
    Traceback (most recent call last):
    jaxtree.errors.InvalidTypeError: tune takes no 'max_depth': make the estimator with max_depth=
    """
    own = list(own)
    for name in given:
        if name not in own:
            kind = estimator if isinstance(estimator, type) else type(estimator)
            parameters = list(getattr(kind, "__dataclass_fields__", {}))
            raise InvalidTypeError(f"{owner} takes no {name!r}{hint_for_argument(name, own, parameters)}")


def hint_for_name(name: str) -> str:
    """Returns the hint of an error about a class or function that jaxtree does not have, or "".

    >>> hint_for_name("XGBRanker"), hint_for_name("colour")
    (': it is jaxtree.GradientBoostingRanker here', '')
    """
    advice = peers().names.get(name)
    return f": {advice}" if advice else ""


def our_metric(given: str) -> str | None:
    """Returns our name of a metric that another library calls by a name; None if nobody does.

    >>> our_metric("AUC"), our_metric("NDCG@10"), our_metric("beauty")
    ('roc_auc', 'ndcg', None)
    """
    plain = given.lower().rsplit(":", 1)[0].partition("@")[0].replace("-", "_").replace(" ", "_")
    return next((ours for ours, theirs in peers().metrics.items() if plain in theirs), None)


def unknown_parameters(kind: type, given: Any) -> list[str]:
    """Returns the names among some that the constructor of a class does not take."""
    known = inspect.signature(kind.__init__).parameters
    takes_all = any(own.kind is inspect.Parameter.VAR_KEYWORD for own in known.values())
    return [] if takes_all else [name for name in given if name not in known]


class ChecksOptions:
    """A search whose constructor answers an option that it does not have with the one that is meant.

    The constructor is that of a subclass, whose signature is the one that the class shows.
    """

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Raises InvalidTypeError for an option that the search does not have."""
        estimator = args[0] if args else options.get("estimator")
        if unknown_parameters(cls, options):
            check_options(cls.__name__, options, inspect.signature(cls.__init__).parameters, estimator)
        return super().__new__(cls)
