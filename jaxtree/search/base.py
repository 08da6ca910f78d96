"""The base of searches: scikit-learn's interface, folds, and results in its form."""

import contextlib
import functools
import os
import time
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import plain_target
from jaxtree.errors import all_or_nothing, set_all_parameters
from jaxtree.estimators.common.conventions import SEED, whole
from jaxtree.estimators.common.display import Shown
from jaxtree.estimators.common.extras import check_arguments_of_fits, extras_of_scores
from jaxtree.estimators.common.folds import folds_of
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.common.scorers import of_all_classes
from jaxtree.export.models import best_of_search
from jaxtree.metrics.scorers import apart, scorer_or_none, with_own_names
from jaxtree.search.evaluation import Results, Search
from jaxtree.search.parameter_importances import ParameterImportances, parameter_importances
from jaxtree.search.scoring import check_scorer
from jaxtree.search.settings import Parameters, settings_of
from jaxtree.sklearn_compat import BaseSearchCV, check_method_params, insert_error_scores, warn_about_failures

USUAL_FOLDS = 5
"""The folds that a splitter is taken to have, where it does not matter how many there are."""

ROUNDING = 1e-12
"""Scores that differ by a smaller share of the greatest one are equal."""

NOT_ALWAYS = (
    *("best_index_", "best_score_", "best_params_", "best_estimator_", "refit_time_", "feature_names_in_"),
    *("n_resources_", "n_candidates_", "ensemble_weights_", "learning_curves_", "oof_predictions_"),
)
"""Results that a search has by its parameters and its table: an earlier fit's are none of the next one's."""

all_or_scores = functools.partial(all_or_nothing, kept="cv_results_")
"""Makes a method search as a whole or not at all; what an interrupted first search has scored is kept."""


class BaseSettingsSearch(Shown, BaseSearchCV):
    """A search over settings of one estimator of jaxtree, scored on folds."""

    _estimators: ClassVar[tuple[type, ...]]
    """The classes that are searched over."""

    _parameter_constraints: ClassVar[dict] = {
        **{name: BaseSearchCV._parameter_constraints[name] for name in ("refit", "cv", "error_score")},
        "scoring": [str, callable, list, tuple, dict, None],
        "param_grid": [dict, list],
        "n_iter": [None, whole(1)],
        "random_state": [*SEED],
        "verbose": ["verbose"],
    }

    param_grid: Any
    n_iter: int | None
    random_state: Any

    def parameter_importances(
        self, metric: str | None = None, *, n_repeats: int = 20, random_state: int = 0
    ) -> ParameterImportances:
        """Returns how much each parameter counts for the mean scores of the settings.

        A random forest predicts the score from the settings; what counts is the coefficient of determination that it
        loses when the values of a parameter are shuffled (see `jaxtree.search.parameter_importances`).

        Args:
            metric: The name of the metric; the one that chose if not given.
            n_repeats: How often every parameter is shuffled.
            random_state: The seed of the forest and the shuffles.

        Raises:
            InvalidInputError: There is no such metric, or there are too few settings with scores.
        """
        check_is_fitted(self, "cv_results_")
        chose = self.refit if self.multimetric_ and isinstance(self.refit, str) else "score"
        return parameter_importances(self.cv_results_, metric or chose, n_repeats=n_repeats, random_state=random_state)

    def __sklearn_tags__(self):
        """Returns scikit-learn's tags: tables may hold what the estimator's may."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, self._estimators):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _get_scorers(self) -> tuple[Any, Any]:
        """Returns scikit-learn's scorers, which score parts without a class too, and the metric that chooses."""
        if self.scoring is None:
            return super()._get_scorers()
        given, self.scoring = self.scoring, with_own_names(self.scoring)
        try:
            scorers, refit_metric = super()._get_scorers()
        finally:
            self.scoring = given
        return apart(of_all_classes(scorers)), refit_metric

    def set_params(self, **params: Any) -> Self:
        """Sets parameters by name, as scikit-learn's searches do, those of the estimator as `estimator__name`.

        None is changed if one fails.
        """
        return set_all_parameters(self, super().set_params, params)

    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """Returns the score of the best estimator on rows, by the scorer that chose.

        Args:
            X: A table.
            y: Its target.
            **params: Further inputs of the scorer, a value a row, such as `event`, `group` and `offset`.
        """
        if not params or get_config()["enable_metadata_routing"] or not hasattr(self, "best_estimator_"):
            base: Any = super()
            return base.score(X, y, **params)
        scorer: Any = self.scorer_[self.refit] if self.multimetric_ else self.scorer_
        return scorer(self.best_estimator_, X, y, **params)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the best estimator into a file, which `jaxtree.load` reads.

        Raises:
            InvalidInputError: There is none, as `refit` was false; or see the `save` of the estimator.
        """
        best_of_search(self).save(path)

    def _placed(self, X: Any, num_settings: int, mesh: Any = None) -> contextlib.AbstractContextManager[Any]:
        """Returns a context in which all fits of a search compute at one place, chosen for all of them."""
        num_folds = self.cv if isinstance(self.cv, int) else USUAL_FOLDS
        return placed_fit(self.estimator, X, mesh, num_fits=num_settings * num_folds)

    def _settings(self) -> list[Parameters]:
        """Returns the settings: all of a grid, or as many as are drawn."""
        return settings_of(self.param_grid, self.n_iter, self.random_state, "param_grid")

    def _task(self, X: Any, y: Any, params: Any, candidates: list[Parameters], scorers: Any) -> Search:
        """Returns what is searched: the rows of every fold, and what fits and scores are given."""
        for name in NOT_ALWAYS:
            vars(self).pop(name, None)
        X, y = indexable(X, plain_target(y))
        params = check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        fit_params = routed.estimator.fit
        if fit_params:
            check_arguments_of_fits(self.estimator, fit_params, candidates)
        self._check_scoring(y)
        splits = folds_of(self.estimator, X, y, self.cv, routed.splitter.split, fit_params)
        self.n_splits_ = len(splits)
        score_params = {**extras_of_scores(self.estimator, self.scoring, fit_params), **routed.scorer.score}
        return Search(
            cloned(self.estimator), candidates, X, y, splits, scorers, fit_params, score_params,
            self.error_score, self.return_train_score,
        )  # fmt: skip

    def _check_scoring(self, y: Any) -> None:
        """Raises InvalidInputError if a scorer of scikit-learn that is named cannot score even a constant."""
        if np.ndim(y) != 1:
            return
        names = [self.scoring] if isinstance(self.scoring, str) else self.scoring or []
        names = names.values() if isinstance(names, Mapping) else [] if callable(names) else names
        for name in names:
            if isinstance(name, str) and scorer_or_none(name) is None:
                check_scorer(name, y, of_classes=is_classifier(self.estimator))

    def _check_scorers_accept_sample_weight(self) -> bool:
        """Answers scikit-learn: `_task` says which scorers get weights."""
        return False

    def _check_names(self, candidates: list[dict[str, Any]]) -> None:
        """Raises scikit-learn's error if a parameter is none of the estimator's."""
        for names in dict.fromkeys(tuple(sorted(parameters)) for parameters in candidates):
            own: Any = clone(next(p for p in candidates if tuple(sorted(p)) == names), safe=False)
            cloned(self.estimator).set_params(**own)

    def _choose(self, search: Search, results: Results, refit_metric: Any, more: Any = None) -> None:
        """Puts the results in scikit-learn's form, and finds the best."""
        flat: Any = [result for row in results for result in row]
        warn_about_failures(flat, self.error_score)
        if callable(self.scoring):
            insert_error_scores(flat, self.error_score)
        _even_out(results)
        formatted = self._format_results(search.candidates, len(search.splits), flat, more)
        first = flat[0]["test_scores"]
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            refit_metric = self.refit
        self.scorer_ = getattr(search.scorer, "_scorers", search.scorer)
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, formatted)
            if not callable(self.refit):
                self.best_score_ = formatted[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = formatted["params"][self.best_index_]
        # The last: an interrupted search is kept if it has these.
        self.cv_results_ = formatted

    def _keep_scored(self, search: Search, results: Results, refit_metric: Any) -> None:
        """Keeps the settings that were scored on all folds before an interrupt."""
        scored = [i for i, row in enumerate(results) if None not in row]
        # Whatever is wrong with the results, the interrupt is what the caller is to see.
        with contextlib.suppress(Exception):
            if scored:
                kept = search._replace(candidates=[search.candidates[i] for i in scored])
                self._choose(kept, [results[i] for i in scored], refit_metric)

    def _refit(self, search: Search) -> None:
        began = time.perf_counter()
        best: Any = clone(self.best_params_, safe=False)
        estimator = cloned(search.estimator).set_params(**best)
        self.best_estimator_ = estimator.fit(search.X, search.y, **search.fit_params)
        self.refit_time_ = time.perf_counter() - began
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def even_out(scores: Float[np.ndarray, " setting"]) -> Float[np.ndarray, " setting"]:
    """Makes scores equal that differ only by rounding, so that rounding decides no rank."""
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(scores[known], kind="stable")]
    step = np.diff(scores[order], prepend=-np.inf)
    first = np.flatnonzero(step > ROUNDING * np.abs(scores[known]).max(initial=0.0))
    result = scores.copy()
    result[order] = np.repeat(scores[order[first]], np.diff(first, append=order.size))
    return result


def _even_out(results: Results) -> None:
    """Makes scores on a fold equal that differ by rounding alone."""
    for fold in zip(*results, strict=True):
        made: list[Any] = list(fold)
        scores = [result["test_scores"] for result in made]
        is_one = not isinstance(scores[0], dict)
        by_name = {"test_scores": made} if is_one else {name: scores for name in scores[0]}
        for name, owners in by_name.items():
            evened = even_out(np.array([owner[name] for owner in owners], np.float64))
            for owner, score in zip(owners, evened.tolist(), strict=True):
                owner[name] = score


def cloned(estimator: Any) -> Any:
    """A clone by scikit-learn, whose annotation is too narrow."""
    return clone(estimator)
