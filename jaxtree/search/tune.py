"""Tuning from Python: a search for a given time that ends in one model, with scikit-learn's interface."""

import contextlib
import inspect
import itertools
import time
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Bool
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import column_or_1d, indexable
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks, notebook
from jaxtree.dataset.arguments import plain_target
from jaxtree.errors import (
    InterruptedFitWarning,
    InvalidInputError,
    InvalidTypeError,
    all_or_nothing,
    present,
    warn_user,
)
from jaxtree.estimators.additive.base import BaseAdditive
from jaxtree.estimators.additive.estimators import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from jaxtree.estimators.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.estimators.boosting.responses import scores_by_loss
from jaxtree.estimators.common.conventions import generator_of, progress_of, whole
from jaxtree.estimators.common.folds import Split, folds_for
from jaxtree.estimators.common.peers import check_options
from jaxtree.estimators.common.scorers import scorer_named
from jaxtree.files.pages import Page
from jaxtree.kernels import library
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import LOSSES, loss_of
from jaxtree.search.budget import MOST_SETTINGS, Budget
from jaxtree.search.ensemble import AveragingScale
from jaxtree.search.evaluation import Search
from jaxtree.search.out_of_fold import make_yardstick
from jaxtree.search.plain import find_or_plain
from jaxtree.search.results import Leaderboard, make_leaderboard
from jaxtree.search.scoring import check_scorer
from jaxtree.search.search import SearchCV
from jaxtree.search.spaces import Space, additive_space_for, space_for
from jaxtree.search.strategies import OnProgress, silent
from jaxtree.search.tuning import TunedModel, find_additive, find_ensemble
from jaxtree.sklearn_compat import Interval, safe_indexing
from jaxtree.table.sources import check_is_in_memory
from jaxtree.table.target import encode_classes, encode_numbers, has_classes
from jaxtree.table.weights import check_sample_weight, rows_of_weight

FEW_WITHOUT_KERNEL = 2
"""Settings that are fitted at once where the kernel in C++ is missing."""

FEWEST_SETTINGS = 100
"""Settings that a tuning is expected to try, by which it is decided where it computes."""

LEAST_ROWS = 10
"""The fewest rows of a fit in a fold."""

MOST_MINUTES = 366 * 24 * 60
"""A longer time is a mistake."""

ALGORITHMS = {
    "boosting": (GradientBoostingClassifier, GradientBoostingRegressor),
    "additive": (ExplainableBoostingClassifier, ExplainableBoostingRegressor),
}
"""The families that are tuned, and their estimators of classes and of numbers."""

SCORING_OF_LOSSES = {
    "absolute": "neg_mean_absolute_error",
    "poisson": "neg_mean_poisson_deviance",
    "gamma": "neg_mean_gamma_deviance",
}
"""The scorers of losses of numbers that are not those of squares."""


class TunedSearchCV(SearchCV):
    """The best ensemble of boosted trees, or the best additive model, that is found in a given time.

    The estimator as it is given is scored first, in any case and to its end. It is the model that is returned unless
    what was found is better on the same folds; `verdict` says which won, by how much, and whether time sufficed.

    Settings are drawn from a space that suits the size of the table, and scored as single models on folds in batches,
    for half of the time. The first setting is that of the defaults, which are tried first, in any case and to their
    end; what is returned is never worse than they are in `best_score_`. In the other half the defaults and the best are
    fitted as means of models of folds (`early_stopping="cv"`), on all rows and on the training part of every fold;
    of these *finalists* every fold chooses an ensemble by out-of-fold predictions (Caruana et al., *Ensemble selection
    from libraries of models*, ICML 2004). The one that is returned is the mean of these choices and of the defaults,
    which have half of the weight, as the best of many differs by chance. Where time suffices for one fit on all rows,
    it is that of the defaults, alone.
    Members are single models where time does not suffice for that, after an interrupt before there is a finalist, and
    where a splitter says what may judge what.

    The space has values of rounds and their early stopping, the learning rate, leaves, the least rows and weight of a
    leaf, penalties, and parts of rows and columns, in place of the estimator's; the other parameters of the estimator,
    such as `monotonic_cst`, `categorical_features` or `loss`, are kept.

    An additive model is no ensemble, so that its curves can be read: it is the best setting, or that of the defaults
    where settings that are chosen on other folds are worse, fitted on all rows with the bags of the estimator. In the
    search settings have one bag, and their space has learning rate, leaves, greedy steps, the least rows of a leaf,
    `reg_lambda`, bins, and the number of pairs, unless the estimator says which.

    Args:
        estimator: A `GradientBoostingClassifier`, `GradientBoostingRegressor`, `ExplainableBoostingClassifier` or
            `ExplainableBoostingRegressor`.
        minutes: The time of all of it, compilation included. The defaults are fitted on the folds, and one member on
            all rows, in any case and to their ends, which may take longer; that nothing else was tried is then said in
            a warning. Where time does not suffice for all rounds of other settings, these end with fewer.
        cv: The number of folds, which are shuffled and have like shares of classes; or a splitter of scikit-learn.
        scoring: The name of a scorer of scikit-learn. If not given, "neg_log_loss" of classes, and of numbers
            "neg_root_mean_squared_error", or for the losses "absolute_error", "poisson" and "gamma" their mean.
        n_iter: The most settings. A search that ends by these, not by the clock, gives the same model again.
        random_state: The seed of settings, folds and fits.
        verbose: 0 for nothing, 1 for a bar, more for a line every so many batches and fits.

    Attributes:
        best_estimator_: The ensemble, one model of the estimator's class with the parameters of the member that weighs
            most; or the additive model. `predict`, `predict_proba` and `score` are its own; the last one by
            `scoring`.
        best_score_: Its score, of ensembles or settings chosen on the other folds, mean over the folds; greater is
            better.
        best_params_: The parameters of the best setting, as single models.
        best_index_: Its place in `cv_results_`.
        cv_results_: Scores and times of all settings, as single models, as in
            `sklearn.model_selection.GridSearchCV`, with `mean_n_rounds` and `weight`, that in the ensemble.
        oof_predictions_: Probabilities of classes, or predictions, of every row by ensembles chosen on other folds; NaN
            of a row of weight 0.
        was_interrupted_: Whether Ctrl-C ended it, which warns: the model is of what was finished by then.
        tuned_: All that was found, a `jaxtree.search.tuning.TunedModel`.

    Raises:
        InvalidInputError: An argument is not allowed, there is one class only, or rows are too few for the folds.
        InvalidTypeError: The table is read in parts, or the estimator is another.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import GradientBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> search = TunedSearchCV(GradientBoostingClassifier(), n_iter=1, cv=2).fit(X, y)
        >>> search.predict_proba(X[:2]).shape, len(search.cv_results_["params"])
        ((2, 3), 1)
    """

    _estimators = tuple(itertools.chain.from_iterable(ALGORITHMS.values()))
    _parameter_constraints: ClassVar[dict] = {
        **{name: SearchCV._parameter_constraints[name] for name in ("cv", "random_state", "verbose")},
        "estimator": [*_estimators],
        "minutes": [Interval(Real, 0, MOST_MINUTES, closed="right")],
        "scoring": [str, None],
        "n_iter": [whole(1)],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        minutes: float = 5,
        cv: Any = 5,
        scoring: str | None = None,
        n_iter: int = MOST_SETTINGS,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        super().__init__(
            estimator, {}, scoring=scoring, cv=cv, n_iter=n_iter, random_state=random_state, verbose=verbose
        )
        self.minutes = minutes

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Searches, and fits the members of the ensemble on all rows.

        An interrupt (Ctrl-C) ends the search with a warning: the ensemble is of the finalists that are finished. If
        there is none yet, it is of the settings that are, and after another one of the members that are. Before the
        first of them it is raised.

        Args:
            X: A table in memory: a data frame, an array of NumPy, or a sparse matrix.
            y: Its target.
            sample_weight: The weight of every row, in the fits and in the scores.
            groups: The groups that a splitter keeps together, a value a row.
        """
        began = time.monotonic()
        forks.check_is_whole("a search")
        self._check_arguments(X)
        most: Any = self.n_iter
        budget = Budget(60 * self.minutes, most, used_before=time.monotonic() - began)
        seed = _seed_of(self.random_state)
        search, rows = self._problem(X, y, sample_weight, groups, seed)
        with self._placed(X, FEWEST_SETTINGS), self._progress_of_time(budget.seconds) as report:
            find = find_additive if isinstance(self.estimator, BaseAdditive) else find_ensemble
            self._take(find_or_plain(find, search, self._space(search), budget, seed, report), rows)
        self._say_what_time_did_not_suffice_for(budget.used() / 60)
        if self.was_interrupted_:
            kind, number = self.tuned_.kind_of_model, len(self.cv_results_["params"])
            text = f"the tuning was interrupted: its {kind} is of {number} setting{'s' if number > 1 else ''}"
            warn_user(text, InterruptedFitWarning)
        return self

    def _say_what_time_did_not_suffice_for(self, used: float) -> None:
        """Warns where the defaults had all of the time, or none was left to make them a mean of models of folds."""
        tuned, said = self.tuned_, []
        if self.was_interrupted_:
            return
        if len(tuned.tried.settings) < min(present(self.n_iter), 2):
            said.append(f"one setting alone was tried beside the defaults, in {used:.2g} minutes")
        if tuned.is_ensemble and tuned.finalists is None and isinstance(self.cv, int):
            said.append("the ensemble is of single models, not of means of models of folds")
        if said:
            # The command line has read the table in its minutes, so that they are not those of the search.
            warn_user(f"the time did not suffice: {'; '.join(said)}: give more minutes")

    def leaderboard(self) -> Leaderboard:
        """Returns the settings, the best first: a dict of columns, which `pandas.DataFrame` takes.

        The score stands there by the name of what is measured, a loss without its sign.
        """
        check_is_fitted(self)
        return make_leaderboard(self.tuned_.scored())

    def verdict(self) -> str:
        """Returns in words what won, by how much with its interval, what a constant has, and whether time sufficed.

        The interval allows for rows that training parts of folds have in common, see `jaxtree.compare`.
        """
        check_is_fitted(self)
        return self.tuned_.verdict()

    def _html_repr(self) -> str:
        """Returns what a notebook shows: what was found, and the best settings."""
        shown = super()._html_repr()
        if not hasattr(self, "tuned_"):
            return shown
        return shown + notebook.lines(self.verdict()) + self.leaderboard()._repr_html_()

    def to_html(self, *, title: str | None = None) -> Page:
        """Returns a page about the settings, their learning curves, calibration and importances.

        Args:
            title: The heading of the page; "Tuned boosted trees" or "Tuned additive model" if not given.

        Raises:
            MissingExtraError: jinja2 is not installed.
            sklearn.exceptions.NotFittedError: There was no fit.
        """
        from jaxtree.page.tuned import tuned_page

        check_is_fitted(self)
        usual = "Tuned additive model" if isinstance(self.estimator, BaseAdditive) else "Tuned boosted trees"
        return tuned_page(self.tuned_, self.tuned_.yardstick.target, title=usual if title is None else title)

    def _check_arguments(self, X: Any) -> None:
        """Raises if a parameter is not allowed, or the table is none in memory."""
        if not isinstance(self.estimator, self._estimators):
            names = ", ".join(own.__name__ for own in self._estimators)
            raise InvalidTypeError(f"TunedSearchCV tunes {names}, got {type(self.estimator).__name__}")
        self._validate_params()
        blank: Any = clone(self.estimator)
        blank.check_parameters()
        if is_regressor(self.estimator):
            check_loss(self.estimator.loss)
        check_is_in_memory(X, "tune")

    def _problem(self, X: Any, y: Any, sample_weight: Any, groups: Any, seed: int) -> tuple[Search, Any]:
        """Checks the arguments; returns the problem, of the rows of weight, and which rows these are (None for all)."""
        of_classes = is_classifier(self.estimator)
        X = X if hasattr(X, "shape") else np.asarray(X)
        y = checked_target(y, of_classes=of_classes)
        X, y, sample_weight, groups = indexable(X, plain_target(y), sample_weight, groups)
        there = rows_of_weight(sample_weight, y)
        weight = check_sample_weight(sample_weight, len(y))
        splits = folds_for(X, y, self.cv, seed, of_classes=of_classes, groups=groups, sample_weight=weight)
        if there is not None:
            rows = np.flatnonzero(there)
            X, y, weight = (safe_indexing(own, rows) for own in (X, y, weight))
            splits = [(np.searchsorted(rows, own), np.searchsorted(rows, test)) for own, test in splits]
        check_rows_to_fit_on(splits, LEAST_ROWS, len(y))
        scoring = self.scoring or (None if of_classes else scoring_of(self.estimator.loss))
        check_scorer(scoring, y, of_classes=of_classes)
        scale = AveragingScale.of(self.estimator)
        yardstick = make_yardstick(scoring, y, of_classes=of_classes, scale=scale, weight=weight)
        given = {} if weight is None else {"sample_weight": weight}
        return Search(clone(self.estimator), X, y, splits, fit_params=given, yardstick=yardstick), there

    def _space(self, search: Search) -> Space:
        """Returns the settings that suit the table."""
        classes = search.yardstick.classes
        num_classes = 0 if classes is None else len(classes)
        if isinstance(self.estimator, BaseAdditive):
            space = additive_space_for(*search.X.shape, num_classes=num_classes)
            if self.estimator.interactions != "auto":
                space.ranges.pop("interactions")
        else:
            space = space_for(*search.X.shape, num_classes=num_classes)
        if not isinstance(self.cv, int):
            # The user says which rows may judge which: no other folds may.
            space = space._replace(finals=None)
        if library.load() is None:
            # Fits take several times as long, and a batch that has no time for all rounds is worth less.
            space = space._replace(batch=min(FEW_WITHOUT_KERNEL, space.batch))
        return space

    @contextlib.contextmanager
    def _progress_of_time(self, seconds: float) -> Iterator[OnProgress]:
        """Shows the time that is used, and what was done last."""
        with progress_of(self.verbose, round(seconds), "tuning", "s") as report:
            if report is None:
                yield silent
                return
            used_before = 0.0

            def tell(used: float, words: str) -> None:
                nonlocal used_before
                report(used - used_before, words)
                used_before = used

            yield tell

    def _take(self, tuned: TunedModel, there: Bool[np.ndarray, " row"] | None) -> None:
        """Takes the result, in scikit-learn's form.

        Args:
            tuned: The result.
            there: The rows of the table that have a weight; None if all have.
        """
        tried, scores = tuned.tried, tuned.tried.scores
        self.tuned_, self.was_interrupted_ = tuned, tuned.was_interrupted
        self.multimetric_, self.n_splits_ = False, len(tuned.tests)
        self.scorer_ = scorer_named(tuned.yardstick.name)
        # The score of a fit that failed is NaN, as in scikit-learn's searches.
        shown = np.where(np.isfinite(scores), scores, np.nan)
        flat: Any = [
            {"fit_error": None, "fit_time": seconds, "score_time": 0.0, "test_scores": score}
            for seconds, score in zip(tried.fit_seconds.ravel().tolist(), shown.ravel().tolist(), strict=True)
        ]
        self.best_index_ = int(scores.mean(axis=1).argmax())
        self.best_params_ = tried.settings[self.best_index_]
        self.best_score_ = float(tuned.scores.mean())
        self.best_estimator_ = tuned.model
        self.oof_predictions_ = tuned.predicted
        if there is not None:
            self.oof_predictions_ = np.full((len(there), tuned.predicted.shape[1]), np.nan)
            self.oof_predictions_[there] = tuned.predicted
        vars(self).pop("feature_names_in_", None)
        if hasattr(tuned.model, "feature_names_in_"):
            self.feature_names_in_ = tuned.model.feature_names_in_
        more = {"mean_n_rounds": tried.num_rounds.mean(axis=1), "weight": tuned.weights}
        self.cv_results_ = self._format_results(tried.settings, self.n_splits_, flat, more)


def tune(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    minutes: float = 5,
    algorithm: str = "boosting",
    estimator: Any = None,
    groups: Any = None,
    **options: Any,
) -> TunedSearchCV:
    """Returns the best ensemble of boosted trees, or additive model, found in a given time: a fitted `TunedSearchCV`.

    Args:
        X: A table in memory: a data frame, an array of NumPy, or a sparse matrix.
        y: Its target. Words, truth values, categories, whole numbers of at most ten values, and any two whole numbers
            are classes; an estimator says otherwise.
        sample_weight: The weight of every row, in the fits and in the scores.
        minutes: The time of all of it.
        algorithm: "boosting", or "additive" for a model whose curves can be read; both are never tried side by side,
            as each would have half of the time.
        estimator: One that `TunedSearchCV` tunes, in place of an algorithm, with parameters that are kept; by the
            algorithm and the target if not given.
        groups: The groups that a splitter given as `cv` keeps together, a value a row.
        options: Other parameters of `TunedSearchCV`, such as `scoring`. A bar is shown unless `verbose` says otherwise.

    Raises:
        InvalidInputError: An argument is not allowed, there is one class only, or rows are too few for the folds.
        InvalidTypeError: The table is read in parts, the estimator is another, or there is no such option.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> search = tune(X, y, minutes=5, n_iter=1, cv=2, verbose=0)
        >>> search.predict(X[:2]), list(search.leaderboard())[:4]
        (array([0, 0]), ['rank', 'log_loss', 'se', 'rounds'])
    """
    check_is_in_memory(X, "tune")
    if algorithm not in ALGORITHMS:
        raise InvalidInputError(f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}, got {algorithm!r}")
    if estimator is None:
        for_classes, for_numbers = ALGORITHMS[algorithm]
        estimator = for_classes() if has_classes(y) else for_numbers()
    elif algorithm == "additive" and not isinstance(estimator, BaseAdditive):
        raise InvalidInputError(
            f"algorithm={algorithm!r} is not that of {type(estimator).__name__}: give the one or the other"
        )
    own = {**inspect.signature(tune).parameters, **inspect.signature(TunedSearchCV).parameters}
    check_options("tune", options, own, estimator)
    search = TunedSearchCV(estimator, minutes=minutes, **{"verbose": 1, **options})
    return search.fit(X, y, sample_weight, groups=groups)


def _seed_of(random_state: Any) -> int:
    """Returns a seed itself, or one that is drawn from a generator."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(generator_of(random_state).randint(2**31 - 1))


def check_loss(loss: Any) -> None:
    """Raises InvalidInputError if the predictions of a loss are no numbers close to one target a row."""
    if scores_by_loss(_loss_of(loss), 1):
        raise InvalidInputError(
            f"tune scores predictions that are close to the target, and those of the loss {loss!r} are not: use "
            "SearchCV"
        )


def scoring_of(loss: Any) -> str | None:
    """Returns the scorer of a loss of numbers if none is given; None for that of squares.

    Raises:
        InvalidInputError: The loss asks for another one, as it is least at quantiles or expectiles.
    """
    made = _loss_of(loss)
    if made.name in ("quantile", "expectile"):
        raise InvalidInputError(f"squared errors do not score predictions of the loss {made}: pass scoring")
    return SCORING_OF_LOSSES.get(made.name)


def checked_target(y: Any, *, of_classes: bool) -> Any:
    """Returns the target, a value a row; raises InvalidInputError if it cannot be learned or has one class only."""
    shape = getattr(y, "shape", np.shape(y) if isinstance(y, list | tuple) else ())
    if len(shape) == 2 and shape[1] == 1:
        y = column_or_1d(y, warn=True)
    elif len(shape) > 1:
        raise InvalidInputError(f"y must have one value a row, got an array of shape {tuple(shape)}")
    if not of_classes:
        encode_numbers(y)
        return y
    classes = encode_classes(y).classes
    if len(classes) == 1 and len(classes[0]) < 2:
        raise InvalidInputError(f"y has one class only, {classes[0].tolist()[0]!r}: there is nothing to tune")
    if len(classes) == 1 and len(classes[0]) == len(y):
        raise InvalidInputError(
            f"y has {len(y)} different values in {len(y)} rows, so no class can be learned: pass numbers (for dates, "
            "days since one of them), or classes that several rows have"
        )
    return y


def _loss_of(loss: Any) -> BaseLoss:
    return loss_of(loss, LOSSES)


def check_rows_to_fit_on(splits: Sequence[Split], least: int, num_rows: int) -> None:
    """Raises InvalidInputError if a fold has too few rows to fit on, of which a tenth decides when to stop.

    >>> check_rows_to_fit_on([(range(6), range(6, 12))], 10, 12)
    Traceback (most recent call last):
    jaxtree.errors.InvalidInputError: tune needs 10 rows or more to fit on, as a tenth of them decides when to stop, and
    1 fold leaves 6 of 12
    """
    fewest = min((len(train) for train, _ in splits), default=0)
    if fewest < least:
        plural = "s leave" if len(splits) != 1 else " leaves"
        raise InvalidInputError(
            f"tune needs {least} rows or more to fit on, as a tenth of them decides when to stop, and {len(splits)} "
            f"fold{plural} {fewest} of {num_rows}"
        )
