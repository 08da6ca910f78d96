"""Search over settings of boosted trees, many of them fitted at once."""

import contextlib
from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int
from sklearn.base import clone

from jaxtree import forks
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError, warn_user
from jaxtree.estimators.boosting.distribution import GradientBoostingDistribution
from jaxtree.estimators.boosting.ensemble import ensemble_of
from jaxtree.estimators.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.estimators.boosting.loss_names import LOSSES
from jaxtree.estimators.boosting.ranker import GradientBoostingRanker
from jaxtree.estimators.common.conventions import generator_of, progress_of, whole
from jaxtree.growth.inputs.mesh import check_mesh
from jaxtree.search.base import BaseSettingsSearch, all_or_scores, cloned
from jaxtree.search.ensemble import ENSEMBLE, FOLD_ENSEMBLE, AveragingScale, fit_on_folds, select_with_replacement
from jaxtree.search.evaluation import Results, Search
from jaxtree.search.halving import Halving, Standings, fit_settings, with_seeds
from jaxtree.search.out_of_fold import out_of_fold
from jaxtree.search.quick_scores import ScoresOfPredictions
from jaxtree.search.search_progress import SearchProgress
from jaxtree.search.settings import configured
from jaxtree.sklearn_compat import Interval, check_method_params

ENSEMBLED = (GradientBoostingClassifier, GradientBoostingRegressor)
"""The estimators whose models are averaged in ensembles."""


class BoostSearchCV(BaseSettingsSearch):
    """Cross-validated search over settings of boosted trees, which fits all settings of a fold in one program.

    Every model is the one that it would be alone, so that scores are those of `sklearn.model_selection.GridSearchCV` or
    `RandomizedSearchCV` on the same folds and settings. Settings may differ in all numbers (rates, depths, leaves,
    penalties, parts of rows and columns, rounds, patience, and seeds unless they hold rows out to stop early) and in
    weights of classes at no cost; those that differ in anything else, such as `max_bins`, are groups, which are fitted
    one after another. With a generator as `random_state` each setting is fitted by itself. A model that has stopped
    gives its place to the next.

    Args:
        estimator: A `GradientBoostingClassifier`, `GradientBoostingRegressor`, `GradientBoostingRanker` or
            `GradientBoostingDistribution`.
        param_grid: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a
            list of one, so that it may be a list of settings.
        n_iter: The number of settings that are drawn; all of a grid if None.
        cv: Number of folds, or a splitter of scikit-learn. A number keeps the rows of a `group` together.
        scoring: A name, a scorer, several in a list or dict, a function; the estimator's `score` if None. Scorers get
            an estimator that predicts the rows of the test part, and knows nothing else. Names are those of
            scikit-learn and of `jaxtree.metrics.scorer`.
        refit: Whether to fit the best setting on all rows; of several metrics, the name of the one that chooses; or
            "ensemble": settings chosen by their out-of-fold predictions and one score (see
            `jaxtree.search.ensemble.select_with_replacement`), fitted on all rows, whose scores are averaged:
            a `BoostedEnsembleClassifier` or `BoostedEnsembleRegressor`; or "fold-ensemble": of every chosen setting the
            models of all folds, averaged, which share the bins and categories of the whole table. Ensembles are of
            classes, or of numbers that are scored by themselves.
        error_score: The score of a fit that fails, or "raise".
        random_state: The seed of what is drawn from distributions.
        factor: Asks for successive halving: after `min_resources` rounds, and again after this number of times as many,
            only the best of this number of settings goes on, by the mean of the folds' scores so far. Models pause
            there, so that no round is made twice. None for none.
        min_resources: The rounds after which settings are compared first.
        verbose: 1 for a bar of progress, with the number of models alive; n for a line every n rounds.

    An interrupt (Ctrl-C) ends the search with a warning: the settings that are scored are compared on the folds that
    all of them are scored on, and the best is fitted.

    Attributes:
        cv_results_: Scores and times as in scikit-learn, and `mean_n_rounds` beside. With `factor` also `iter`, how
            often a setting has gone on, and `n_resources`, the round at which it was stopped, or that of its end.
        best_estimator_: The estimator fitted on all rows with the best parameters, or the ensemble.
        best_score_: The mean score of the best setting; of an ensemble that of its out-of-fold predictions.
        best_params_: The parameters of the best setting; with `factor` of those that were never stopped.
        best_index_: Their place in `cv_results_`.
        oof_predictions_: Probabilities of classes, or predictions, of every row by the models that were not fitted on
            it, means over repeated folds; an array of settings, rows and columns, NaN of rows that no fold tests.
        learning_curves_: The loss on the test rows after every round, of every setting a list with an array a fold.
        ensemble_weights_: The share of every setting in the ensemble.
        n_resources_: With `factor` the rounds at which settings were compared, the last one included.
        n_candidates_: The number of settings that were.

    Raises:
        InvalidInputError: The estimator is another, or a setting has a value that is not allowed.

    Example:
        >>> from scipy.stats import loguniform
        >>> from sklearn.datasets import load_breast_cancer
        >>> from jaxtree import GradientBoostingClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> space = {"learning_rate": loguniform(0.03, 0.3), "max_depth": [2, 3, 4]}
        >>> search = BoostSearchCV(GradientBoostingClassifier(20), space, n_iter=4, cv=3, random_state=0).fit(X, y)
        >>> search.oof_predictions_.shape, bool(search.best_score_ > 0.9)
        ((4, 569, 2), True)
    """

    _estimators = (
        *(GradientBoostingClassifier, GradientBoostingRegressor),
        *(GradientBoostingRanker, GradientBoostingDistribution),
    )
    _parameter_constraints: ClassVar[dict] = {
        **BaseSettingsSearch._parameter_constraints,
        "estimator": [*_estimators],
        "factor": [None, Interval(Real, 1, None, closed="neither")],
        "min_resources": [whole(1)],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        n_iter: int | None = None,
        random_state: Any = None,
        factor: float | None = None,
        min_resources: int = 10,
        verbose: int = 0,
    ):
        super().__init__(
            estimator, scoring=scoring, refit=refit, cv=cv, error_score=error_score, verbose=verbose,
            return_train_score=False,
        )  # fmt: skip
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.random_state = random_state
        self.factor = factor
        self.min_resources = min_resources

    @all_or_scores
    def fit(self, X: Any, y: Any = None, *, mesh: Mesh | None = None, **params: Any) -> Self:
        """Scores every setting, and fits the best one, or the best ensemble, on all rows.

        Args:
            X: A table.
            y: Its target.
            mesh: Devices of one kind, in one axis, among which the models of a fold are divided; those of a setting
                that shares no program, and those on all rows, are fitted on one. The models are those of one device.
            **params: Further arguments of `fit`, such as `sample_weight`, split like the rows where they have a value
                for each; and `groups` for the splitter.
        """
        forks.check_is_whole("a search")
        if not isinstance(self.estimator, self._estimators):
            names = ", ".join(kind.__name__ for kind in self._estimators)
            raise InvalidInputError(
                f"BoostSearchCV searches over {names}, got {type(self.estimator).__name__}; SearchCV searches over all "
                "estimators of jaxtree"
            )
        self._validate_params()
        if mesh is not None:
            check_mesh(mesh)
        candidates = self._settings()
        blank = cloned(self.estimator)
        settings = [configured(blank, parameters) for parameters in candidates]
        for setting in settings:
            setting.check_parameters()
        asks_for_ensemble = isinstance(self.refit, str) and self.refit in (ENSEMBLE, FOLD_ENSEMBLE)
        scorers, refit_metric = self._scorers_and_metric(asks_for_ensemble)
        halving = self._halving(refit_metric)
        with self._placed(X, len(candidates), mesh):
            search = self._task(X, y, params, candidates, scorers)._replace(mesh=mesh)
            standings = Standings([own.most_rounds for own in settings], len(search.splits))
            if halving is not None:
                settings = with_seeds(settings, generator_of(self.random_state))
            try:
                with self._progress(standings) as progress:
                    fit_settings(search, settings, halving, standings, progress)
            except KeyboardInterrupt:
                if not standings.kept()[0]:
                    raise
                _warn_of_interrupt(standings)
            search = self._settle(search, standings, refit_metric, halving)
            if asks_for_ensemble:
                self._fit_ensemble(search)
            elif self.refit:
                self._refit(search)
        return self

    def _halving(self, refit_metric: Any) -> Halving | None:
        """Returns when settings are dropped."""
        if self.factor is None:
            return None
        metric = self.refit if callable(self.scoring) and isinstance(self.refit, str) else refit_metric
        if not isinstance(metric, str) or metric in (ENSEMBLE, FOLD_ENSEMBLE):
            raise InvalidInputError(f"factor compares settings by one metric: refit must name it, got {self.refit!r}")
        return Halving(self.factor, self.min_resources, metric)

    @contextlib.contextmanager
    def _progress(self, standings: Standings) -> Iterator[SearchProgress]:
        """Shows how many rounds are made."""
        rounds = standings.most_rounds()
        with progress_of(self.verbose, sum(rounds.values()), "fitting settings", "rounds") as report:
            yield SearchProgress(report, rounds)

    def _scorers_and_metric(self, asks_for_ensemble: bool) -> tuple[Any, Any]:
        """Returns scikit-learn's scorers, and the name of the metric that chooses."""
        if not asks_for_ensemble:
            return self._get_scorers()
        loss: Any = getattr(self.estimator, "loss", None)
        made = LOSSES[loss]() if isinstance(loss, str) and loss in LOSSES else loss
        if not isinstance(self.estimator, ENSEMBLED) or getattr(made, "needs", ()):
            raise InvalidInputError(
                f"refit={self.refit!r} averages models of classes, or of numbers whose loss asks for no extras, got "
                f"{self.estimator}"
            )
        if isinstance(self.scoring, list | tuple | set | dict):
            raise InvalidInputError(
                f"refit={self.refit!r} chooses by one score: scoring must be one, got {self.scoring!r}"
            )
        kind, self.refit = self.refit, True
        try:
            return self._get_scorers()
        finally:
            self.refit = kind

    def _settle(self, search: Search, standings: Standings, refit_metric: Any, halving: Halving | None) -> Search:
        """Puts what is known of the settings in scikit-learn's form, finds the best, and returns what was searched."""
        numbers, self.n_splits_ = standings.kept()
        kept = [search.candidates[number] for number in numbers]
        search = search._replace(candidates=kept, splits=search.splits[: self.n_splits_])
        fits = [standings.row(number, self.n_splits_) for number in numbers]
        rounds = np.array([[own.num_rounds for own in row] for row in fits])
        more = {f"split{fold}_n_rounds": column for fold, column in enumerate(rounds.T)}
        more["mean_n_rounds"] = rounds.mean(axis=1)
        if halving is not None:
            more |= {"iter": standings.rung[numbers], "n_resources": standings.num_rounds[numbers]}
            self.n_resources_ = [*halving.rungs(max(standings.most)), max(standings.most)]
            self.n_candidates_ = [int((more["iter"] >= rung).sum()) for rung in range(len(self.n_resources_))]
        results: Results = [[own.result for own in row] for row in fits]
        self.learning_curves_ = [[own.curve for own in row] for row in fits]
        self.oof_predictions_ = out_of_fold(search, fits)
        self._choose(search, results, refit_metric, more)
        return search

    def _select_best_index(self, refit: Any, refit_metric: Any, results: Any) -> Any:
        """Returns the place of the best setting, of those that went on to the end."""
        if callable(refit) or "iter" not in results:
            return super()._select_best_index(refit, refit_metric, results)
        last = np.flatnonzero(results["iter"] == results["iter"].max())
        return int(last[results[f"rank_test_{refit_metric}"][last].argmin()])

    def _able_numbers(self) -> Int[np.ndarray, " able"]:
        """Returns the numbers of the settings that went on to the end and did not fail."""
        rung = self.cv_results_.get("iter", np.zeros(len(self.oof_predictions_)))
        is_missing = np.asarray(np.isnan(self.oof_predictions_).any(axis=2))
        # Of a fold that no setting has been fitted on there is nothing to choose by.
        has_failed = (is_missing & ~is_missing.all(axis=0)).any(axis=1)
        able = np.flatnonzero((rung == rung.max()) & ~has_failed)
        if not len(able):
            raise TrainingError(f"refit={self.refit!r} needs a setting whose fits failed on no fold, got none")
        return able

    def _fit_ensemble(self, search: Search) -> None:
        """Chooses settings by their out-of-fold predictions, and fits them on all rows."""
        able = self._able_numbers()
        tested = np.flatnonzero(~np.isnan(self.oof_predictions_[able]).any(axis=(0, 2)))
        predictions, scale = self.oof_predictions_[np.ix_(able, tested)], AveragingScale.of(self.estimator)
        params = check_method_params(search.X, params=search.score_params, indices=tested)
        y, weight = np.asarray(search.y)[tested], params.get("sample_weight")
        score = ScoresOfPredictions(self.scorer_, y, search.classes, weight)
        of_scores: Any = lambda own: score(scale.predictions(own))  # noqa: E731
        weights = select_with_replacement(list(scale.scores(predictions)), of_scores)
        self.best_score_ = score(scale.mean(weights, predictions))
        self.ensemble_weights_ = np.zeros(len(search.candidates))
        self.ensemble_weights_[able] = weights
        chosen = np.flatnonzero(self.ensemble_weights_).tolist()
        blank: Any = search.estimator
        models: list[Any] = [clone(configured(blank, search.candidates[number])) for number in chosen]
        weights = self.ensemble_weights_[chosen]
        if self.refit == FOLD_ENSEMBLE:
            fitted = [own for model in models for own in fit_on_folds(model, search)]
            weights = np.repeat(weights / len(search.splits), len(search.splits))
        else:
            fitted = [model.fit(search.X, search.y, **search.fit_params) for model in models]
        self.best_estimator_ = ensemble_of(fitted, weights.tolist())


def _warn_of_interrupt(standings: Standings) -> None:
    """Warns of what an interrupt leaves."""
    settings, num_folds = standings.kept()
    text = (
        f"the search was interrupted: it has scores of {len(settings)} of {len(standings.most)} settings on {num_folds}"
        f" of {standings.num_folds} folds"
    )
    warn_user(text, InterruptedFitWarning)
