"""Search over any estimator of jaxtree, by a fit for every setting and fold."""

from typing import Any, ClassVar, Self

from jaxtree import forks
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.files.registry import KeptInFiles
from jaxtree.search.base import SettingsSearchCV
from jaxtree.search.evaluation import Results, fit_alone


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
                    for number in range(len(candidates)):
                        for fold in range(len(search.splits)):
                            results[number][fold] = fit_alone(search, number, fold)
                            if report is not None:
                                report(1)
            except KeyboardInterrupt:
                self._keep_scored(search, results, refit_metric)
                raise
            self._choose(search, results, refit_metric)
            if self.refit:
                self._refit(search)
        return self
