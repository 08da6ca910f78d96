"""Search over any estimator of jaxtree, by a fit for every setting and fold."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

from jaxtree import forks
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.files.registry import KeptInFiles
from jaxtree.search.base import SettingsSearchCV, all_or_scores
from jaxtree.search.evaluation import Results, Search, fit_alone


class PlainSearchCV(SettingsSearchCV):
    """A search that fits one setting after another, as scikit-learn's does.

    Args:
        estimator: An estimator of jaxtree.
        param_grid: A dict of lists and distributions, or a list of such.
        options: Further arguments, those of `SearchCV`.
    """

    _estimators = (KeptInFiles,)
    _parameter_constraints: ClassVar[dict] = {
        **SettingsSearchCV._parameter_constraints,
        "estimator": [*_estimators],
    }

    @all_or_scores
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Scores every setting, and fits the best one on all rows; see `SearchCV.fit`."""
        forks.check_is_whole("a search")
        self._validate_params()
        scorers, refit_metric = self._get_scorers()
        candidates = self._settings()
        self._check_names(candidates)
        with self._placed(X, len(candidates)):
            search = self._task(X, y, params, candidates, scorers)
            results: Results = [[None] * len(search.splits) for _ in candidates]
            total = len(candidates) * len(search.splits)
            try:
                with progress_of(self.verbose, total, "fitting settings", "fits") as report:
                    self._score_all(search, results, report or (lambda number: None))
            except KeyboardInterrupt:
                self._keep_scored(search, results, refit_metric)
                raise
            self._choose(search, results, refit_metric)
            if self.refit:
                self._refit(search)
        return self

    def _score_all(self, search: Search, results: Results, on_scored: Callable[[int], object]) -> None:
        """Fills in the results of every setting and fold.

        Args:
            search: The task.
            results: A row for every setting, with None for every fold.
            on_scored: Called with the number of further results.
        """
        for number, of_setting in enumerate(results):
            for fold in range(len(of_setting)):
                of_setting[fold] = fit_alone(search, number, fold)
                on_scored(1)
