"""Comparisons of models of any library on the same folds."""

import contextlib
import inspect
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from jaxtree import forks
from jaxtree.dataset.arguments import check_groups, plain_target
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import generator_of, progress_of
from jaxtree.estimators.common.extras import check_arguments_of_fits, extras_of_scores
from jaxtree.estimators.common.folds import Split, folds_for
from jaxtree.estimators.common.jobs import FittedJob, Job, fit_many, grouped
from jaxtree.estimators.common.peers import check_options
from jaxtree.estimators.common.scorers import of_all_classes, scorers_of
from jaxtree.metrics.constants import BY_DEFINITION, OF_MEDIANS, blank_constant
from jaxtree.resampling.comparison import BASELINE, Comparison
from jaxtree.resampling.foreign import as_estimator, predicts_classes
from jaxtree.search.evaluation import Search, SearchFold
from jaxtree.search.scoring import check_scorer
from jaxtree.sklearn_compat import check_method_params, safe_split
from jaxtree.table.sources import check_is_in_memory
from jaxtree.table.target import encode_classes, encode_numbers, has_classes
from jaxtree.tree.kinds import Prediction, prediction_of

USUAL_FOLDS, USUAL_REPEATS = 10, 2

LONGEST_REASON = 200
"""Characters of the reason of a failure."""


def compare(
    models: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    cv: Any = (USUAL_FOLDS, USUAL_REPEATS),
    scoring: Any = None,
    random_state: Any = 0,
    verbose: int = 0,
    **params: Any,
) -> Comparison:
    """Scores models of any library on the same folds, beside a constant, with intervals of their differences.

    Every model is fitted on the training part of every fold, and scored on the test part. Models of jaxtree that can
    share codes, growth or a program do. A model that fails on any fold has no score, and the others go on; the result
    says why. An interval is about one pair of models: among many pairs some intervals leave out 0 by chance.

    Args:
        models: Models by name, or a list of models, which are named by their classes and parameters. Each has `fit` and
            `predict`: estimators and searches of jaxtree, pipelines, models of XGBoost, LightGBM or one's own. A
            constant, `"baseline"`, is always among them. Models without a `random_state` of their own get the present
            one.
        X: A table.
        y: Its target.
        sample_weight: The weight of every row, in fits and in scores; the last step of a pipeline gets it.
        cv: The number of folds; such a number and how often they are drawn, as `(10, 2)`; or a splitter of
            scikit-learn, or pairs of training and test rows. Folds of a number are shuffled, have like shares of
            classes, and keep `groups` whole. Ten folds give narrower intervals than five drawn twice as often.
        scoring: The name of a scorer of scikit-learn or of `jaxtree.metrics.scorer`, a scorer, or several in a list or
            dict, of which the first ranks. If not given "accuracy", of numbers "r2", of survival times (`event`)
            "concordance", and of ranks (`group`) "ndcg".
        random_state: The seed of folds and models.
        verbose: 1 for a bar of progress; n for a line every n fits.
        **params: `groups`, the group of every row; and further arguments of `fit`, such as `event`, split like the
            rows. The constant gets none.

    Raises:
        InvalidInputError: There is no model, some are of classes and others of numbers, one predicts effects, or an
            argument is not allowed.
        InvalidTypeError: A model has no `fit` or `predict`.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from jaxtree import DecisionTreeClassifier
        >>> models = {
        ...     "tree": DecisionTreeClassifier(max_depth=3),
        ...     "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        ... }
        >>> found = compare(models, *load_breast_cancer(return_X_y=True), cv=5)
        >>> [row.name for row in found.rows()]
        ['logistic', 'tree', 'baseline']
        >>> print(found.verdict())  # doctest: +ELLIPSIS
        logistic is the best: accuracy 0.97..., better than a constant (0.6274) by 0.35... (0.32... to 0.3...). ...
    """
    forks.check_is_whole("a comparison")
    check_is_in_memory(X, "compare")
    seed = _seed_of(random_state)
    groups = params.pop("groups", None)
    X, y, groups, sample_weight = indexable(_table(X), plain_target(y), groups, sample_weight)
    estimators = _estimators(models, y, seed)
    of_classes = bool(predicts_classes(next(iter(estimators.values()))))
    (encode_classes if of_classes else encode_numbers)(y)  # which say what is wrong with a target
    params = {name: values for name, values in params.items() if values is not None}
    scorers = _scorers(scoring, y, params, of_classes=of_classes)
    center = "median" if next(iter(scorers)) in OF_MEDIANS else "mean"
    estimators[BASELINE] = blank_constant(of_classes=of_classes, center=center)
    groups = params.get("group") if groups is None else groups
    rows = _FoldRows(X, y, sample_weight, groups, of_classes)
    splits, folds = _folds(rows, cv, seed)
    _check_taken(params, estimators)
    given = {**params, **({} if sample_weight is None else {"sample_weight": sample_weight})}
    return _compared(Search(None, X, y, splits, scorers, given), estimators, folds, verbose)


class _FoldRows(NamedTuple):
    """The rows that folds are made of."""

    X: Any
    y: Any
    weight: Any
    groups: Any
    of_classes: bool


def _table(X: Any) -> Any:
    return X if hasattr(X, "shape") else np.asarray(X)


def _seed_of(random_state: Any) -> int:
    """A seed itself, or one that is drawn from a generator."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(generator_of(random_state).randint(2**31 - 1))


def _estimators(models: Any, y: Any, seed: int) -> dict[str, Any]:
    """Returns the models by name as estimators with seeds, all of classes or all of numbers."""
    named = _named(models)
    kinds = {name: predicts_classes(model) for name, model in named.items()}
    known = {kind: name for name, kind in kinds.items() if kind is not None}
    if len(known) > 1:
        raise InvalidInputError(
            f"models must all be of classes or all of numbers, got {known[True]!r} of classes and {known[False]!r} of "
            "numbers"
        )
    instances = {name: model for name, model in named.items() if not isinstance(model, type)}
    effects = [name for name, model in instances.items() if prediction_of(model) == Prediction.EFFECTS]
    if effects:
        raise InvalidInputError(
            f"a comparison scores predictions by targets, and nobody observes effects, which {effects[0]!r} predicts"
        )
    of_classes = next(iter(known), None)
    of_classes = has_classes(y) if of_classes is None else of_classes
    made = {name: as_estimator(name, model, of_classes=of_classes) for name, model in named.items()}
    return {name: _seeded(clone(model), seed) for name, model in made.items()}


def _named(models: Any) -> dict[str, Any]:
    """Returns the models by name.

    >>> from jaxtree import DecisionTreeClassifier
    >>> list(_named([DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=2)]))
    ['DecisionTreeClassifier()', 'DecisionTreeClassifier(max_depth=2)']
    """
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        listed = list(models) if isinstance(models, list | tuple) else [models]
        classes = [type(model).__name__ for model in listed]
        named = {}
        for model, name in zip(listed, classes, strict=True):
            name = name if classes.count(name) == 1 else " ".join(repr(model).split())
            number = sum(own == name or own.startswith(f"{name} #") for own in named)
            named[f"{name} #{number + 1}" if number else name] = model
    if not named:
        raise InvalidInputError("models must have one model or more, got none")
    if BASELINE in named:
        raise InvalidInputError(
            f"{BASELINE!r} is the name of the constant that is always compared: name yours otherwise"
        )
    return named


def _seeded(estimator: Any, seed: int) -> Any:
    """Sets the seed of an estimator, and of those in it, where it has none."""
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state"]
    given = estimator.get_params()
    return estimator.set_params(**{name: seed for name in names if given[name] is None})


def _check_taken(params: Mapping[str, Any], estimators: Mapping[str, Any]) -> None:
    """Raises InvalidTypeError for an argument that the fit of no model takes."""
    taken = list(inspect.signature(compare).parameters)
    for name in params:
        for model in estimators.values():
            with contextlib.suppress(InvalidInputError):
                check_arguments_of_fits(model, [name])
                taken.append(name)
    check_options("compare", params, taken, None)


def _scorers(scoring: Any, y: Any, params: Mapping[str, Any], *, of_classes: bool) -> dict[str, Any]:
    """Returns the scorers by name."""
    if scoring is None:
        of_target = "accuracy" if of_classes else "r2"
        scoring = next((own for extra, own in OF_EXTRAS.items() if extra in params), of_target)
    if not isinstance(scoring, Mapping):
        several = scoring if isinstance(scoring, list | tuple | set) else [scoring]
        scoring = {own if isinstance(own, str) else getattr(own, "__name__", "score"): own for own in several}
    if not scoring:
        raise InvalidInputError("scoring must have one scorer or more, got none")
    found = {}
    for name, own in scorers_of(scoring).items():
        if isinstance(own, str) and np.ndim(y) == 1:
            check_scorer(own, y, of_classes=of_classes)
        found[name] = of_all_classes(get_scorer(own) if isinstance(own, str) else own)
    return found


OF_EXTRAS = {"event": "concordance", "group": "ndcg"}
"""The scorers of rows with events or groups."""


def _folds(rows: _FoldRows, cv: Any, seed: int) -> tuple[list[Split], str]:
    """Returns the training and the test rows of every fold, and the folds in words."""
    X, y, weight, groups, of_classes = rows
    given = {"of_classes": of_classes and np.ndim(y) == 1, "groups": groups, "sample_weight": weight}
    is_pair = isinstance(cv, tuple) and len(cv) == 2 and all(isinstance(own, int | np.integer) for own in cv)
    number, repeats = cv if is_pair else (cv, 1)
    if not isinstance(number, int | np.integer):
        splits = folds_for(X, y, cv, seed, **given)
        return splits, f"{len(splits)} folds"
    if number < 2 or repeats < 1:
        raise InvalidInputError(f"cv must be 2 folds or more, drawn once or more, got {cv}")
    if groups is not None:
        check_groups("groups", groups)
        most = len(np.unique(np.asarray(groups)))
        if number > most:
            raise InvalidInputError(f"cv must be at most {most}, the number of groups, got {number} folds")
    splits = []
    for repeat in range(repeats):
        own = int(number) if groups is None else GroupKFold(int(number), shuffle=True, random_state=seed + repeat)
        splits += folds_for(X, y, own, seed + repeat, **given)
    of_groups = "" if groups is None else " of whole groups"
    return splits, f"{number} folds{of_groups}" + ("" if repeats == 1 else f", drawn {_times(repeats)}")


def _times(number: int) -> str:
    """How often.

    >>> _times(2), _times(5)
    ('twice', '5 times')
    """
    return "twice" if number == 2 else f"{number} times"


def _compared(search: Search, estimators: dict[str, Any], folds: str, verbose: int) -> Comparison:
    """Fits and scores all models on all folds."""
    names, num_folds = list(estimators), len(search.splits)
    blank = np.full((len(names), num_folds), np.nan)
    scores, fit_seconds, predict_seconds = {name: blank.copy() for name in search.scorer}, blank.copy(), blank.copy()
    failures: dict[str, list[str]] = {}
    jobs = _jobs(search, estimators)
    with progress_of(verbose, len(jobs), "fitting models", "fits") as report:
        for fitted in fit_many(jobs, keeps_errors=True, on_fitted=report):
            model, fold = divmod(fitted.number, num_folds)
            found = _measured(search, estimators[names[model]], fitted, fold)
            fit_seconds.flat[fitted.number], predict_seconds[model, fold] = fitted.seconds, found.seconds
            if found.failure is not None:
                failures.setdefault(names[model], []).append(found.failure)
            for metric, score in found.scores.items():
                scores[metric][model, fold] = score
    for _, together in grouped(jobs):
        fit_seconds.flat[together] = fit_seconds.flat[together].mean()
    for metric in BY_DEFINITION.keys() & scores:
        scores[metric][names.index(BASELINE)] = BY_DEFINITION[metric]
        failures.pop(BASELINE, None)
    said = {name: f"on {len(own)} of {num_folds} folds, {own[0]}" for name, own in failures.items()}
    return Comparison(estimators, scores, fit_seconds, predict_seconds, said, search.splits, folds)


def _jobs(search: Search, estimators: Mapping[str, Any]) -> list[Job]:
    """Returns the fits of all models on all folds; models with the same arguments share what is read of a fold."""
    jobs: list[Job] = []
    parts: dict[tuple[str, ...], list[SearchFold]] = {}
    for name, estimator in estimators.items():
        given = _arguments_of(estimator, search.fit_params, is_constant=name == BASELINE)
        if tuple(given) not in parts:
            own = search._replace(fit_params=given)
            parts[tuple(given)] = [SearchFold(own, fold) for fold in range(len(search.splits))]
        jobs += [Job(estimator, part) for part in parts[tuple(given)]]
    return jobs


def _arguments_of(estimator: Any, fit_params: Mapping[str, Any], *, is_constant: bool) -> dict[str, Any]:
    """Returns the arguments of a fit: a constant has none but weights, which a pipeline's last step gets."""
    if is_constant:
        return {name: values for name, values in fit_params.items() if name == "sample_weight"}
    if not isinstance(estimator, Pipeline):
        return dict(fit_params)
    last = estimator.steps[-1][0]
    return {f"{last}__{name}" if name == "sample_weight" else name: values for name, values in fit_params.items()}


class _Measured(NamedTuple):
    """The scores of a model on a fold by metric, the time of the first, and why it has none of some, in words."""

    scores: dict[str, float]
    seconds: float
    failure: str | None


def _measured(search: Search, estimator: Any, fitted: FittedJob, fold: int) -> _Measured:
    """Scores a fitted model on the test part of a fold."""
    if fitted.error is not None:
        return _Measured({}, np.nan, _reason(fitted.error))
    train, test = search.splits[fold]
    X, y = safe_split(fitted.made, search.X, search.y, test, train)
    scores, seconds, failure = {}, np.nan, None
    for metric, scorer in search.scorer.items():
        extras = extras_of_scores(estimator, scorer, search.fit_params)
        given = check_method_params(search.X, params=extras, indices=test)
        began = time.perf_counter()
        try:
            scores[metric] = float(scorer(fitted.made, X, y, **given))
        except Exception as error:
            failure = failure or f"{metric}: {_reason(error)}"
        seconds = time.perf_counter() - began if np.isnan(seconds) else seconds
    return _Measured(scores, seconds, failure)


def _reason(error: Exception) -> str:
    """Returns why a fit or a score failed, in one line."""
    words = " ".join(str(error).split())
    shown = words if len(words) <= LONGEST_REASON else f"{words[: LONGEST_REASON - 1]}…"
    return f"{type(error).__name__}: {shown}"
