"""The search over settings of any estimator of jaxtree, which shares what settings and folds have in common."""

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.arguments import plain_target
from jaxtree.errors import (
    InterruptedFitWarning,
    InvalidInputError,
    TrainingError,
    all_or_nothing,
    present,
    set_all_parameters,
    warn_user,
)
from jaxtree.estimators.common.conventions import SEED, configured, progress_of, whole
from jaxtree.estimators.common.display import Shown
from jaxtree.estimators.common.extras import check_arguments_of_fits, extras_of_scores
from jaxtree.estimators.common.folds import folds_of
from jaxtree.estimators.common.peers import ChecksOptions
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.common.scorers import of_all_classes, scorers_of
from jaxtree.export.models import best_of_search
from jaxtree.figures.searches import ScoredSettings, scales_of_space
from jaxtree.files.pages import Page
from jaxtree.files.registry import KeptInFiles
from jaxtree.kernels.mesh import check_mesh
from jaxtree.metrics.scorers import apart, scorer_or_none
from jaxtree.search.boosted_folds import SearchMeasure
from jaxtree.search.ensemble import ENSEMBLE, FOLD_ENSEMBLE, check_can_average, fit_ensemble
from jaxtree.search.evaluation import Parameters, Search, makes_rounds, only_scored
from jaxtree.search.journal import Journal, made_with
from jaxtree.search.results import Leaderboard, ParameterImportances, make_leaderboard, parameter_importances
from jaxtree.search.scoring import check_scorer
from jaxtree.search.spaces import settings_of
from jaxtree.search.strategies import AllAtOnce, Halving, Strategy, run
from jaxtree.search.trials import Trials
from jaxtree.sklearn_compat import (
    BaseSearchCV,
    Interval,
    check_method_params,
    insert_error_scores,
    warn_about_failures,
)
from jaxtree.table.numerals import duration_in_words, score_in_words
from jaxtree.table.sources import check_is_in_memory

USUAL_FOLDS = 5
"""The folds that a splitter is taken to have, where it does not matter how many there are."""

ROUNDING = 1e-12
"""Scores that differ by a smaller share of the greatest one are equal."""

NOT_ALWAYS = (
    *("best_index_", "best_score_", "best_params_", "best_estimator_", "refit_time_", "feature_names_in_"),
    *("n_resources_", "n_candidates_", "ensemble_weights_", "learning_curves_", "oof_predictions_"),
)
"""Results that a search has by its parameters and its table: an earlier fit's are none of the next one's."""


class SearchCV(Shown, ChecksOptions, BaseSearchCV):
    """Cross-validated search over any estimator of jaxtree, with the results of `sklearn.model_selection.GridSearchCV`.

    The scores and the winner are those of `GridSearchCV` on the same folds, with `n_iter` those of
    `RandomizedSearchCV`: every model is the one that it would be alone. Scores have the weights of rows, and folds are
    of the rows of some weight. Work that settings and folds have in common is done once:

    - **Trees** grow once a fold. A parameter that only decides whether a split is made (`max_depth`,
      `min_samples_split`, `min_impurity_decrease`, `min_gain`, `max_leaf_nodes`, `ccp_alpha`, `collapse`, `pruning` and
      all `pruning__...`) never makes another tree grow; others, which change splits, do once for each of their values.
      The folds are roots of one growth, each encoded by its own training rows. Accuracy, balanced accuracy, log loss,
      Brier score, ROC AUC of two classes, squared error, R^2 and all metrics of labels come from sums at the nodes; any
      other scorer, and whatever does not follow from sums (several outputs, rows shared out, subtree raising, a price
      found by cross-validation), is scored on the rows. One search of a fold finds the optimal trees of all values
      of `leaf_penalty` and `max_leaf_nodes`.
    - **Forests** likewise; a smaller `n_estimators` takes the first trees.
    - **Boosted trees** of a fold are fitted in one program. Settings may differ in all numbers (rates, depths, leaves,
      penalties, parts of rows and columns, rounds, patience, and seeds unless they hold rows out to stop early) and in
      weights of classes at no cost; those that differ in anything else, such as `max_bins`, are groups, which are
      fitted one after another. A model that has stopped gives its place to the next. Scores of the test part come from
      the program; where training scores are asked for, too, the models are kept and predict both parts.
    - **Additive models** of a fold share codes, bags and sums over pairs of bins; those that differ in when boosting
      ends (`max_rounds`, `early_stopping_rounds` and its tolerance) or in their pairs boost their curves once.
    - **Soft models** of one form (depth, gate, batch size) share a program for all settings, folds and restarts.

    Where `random_state` is a generator, and where a class of one's own changes methods, every setting is fitted by
    itself. Fits that fail score `error_score`.

    Args:
        estimator: An estimator of jaxtree.
        param_grid: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a
            list of one, so that it may be a list of settings.
        cv: Number of folds, or a splitter of scikit-learn. A number keeps the rows of a `group` together, and, as in
            scikit-learn, does not shuffle; where rows seem to be sorted by a target of numbers, a warning says so.
        scoring: A name, a scorer, several in a list or dict, a function; the estimator's `score` if None. Names are
            those of scikit-learn and of `jaxtree.metrics.scorer`, such as "concordance" and "ndcg@5".
        refit: Whether to fit the best setting on all rows; of several metrics, the name of the one that chooses.
            Boosted trees of classes, or of numbers that are scored by themselves, also take "ensemble": settings chosen
            by their out-of-fold predictions and one score (see `jaxtree.search.ensemble.select_with_replacement`),
            fitted on all rows, whose scores are averaged: one model of the estimator's class; and "fold-ensemble": the
            models of all folds of every chosen setting, averaged, which share the bins and categories of the whole
            table.
        error_score: The score of a fit that fails, or "raise".
        return_train_score: Whether `cv_results_` has scores on the training rows, too.
        n_iter: The number of settings that are drawn; all of a grid if None.
        random_state: The seed of what is drawn from distributions.
        factor: Asks for successive halving of boosted trees: after `min_resources` rounds, and again after this number
            of times as many, only the best of this number of settings goes on, by the mean of the folds' scores so far.
            Models pause there, so that no round is made twice. None for none.
        min_resources: The rounds after which settings are compared first.
        resume: The name of a file, such as "search.jsonl", that gets the result of every fit while the search runs. A
            search that was interrupted or killed is taken up from it by the same `fit`, and ends with the bits of one
            that was not, but for the times; one that has ended is read. A file of another table, estimator, space,
            splitter, scorer or version is refused. See `jaxtree.search.journal`.
        verbose: 1 for a bar of progress; n for a line every n fits, or rounds of boosted trees.

    An interrupt (Ctrl-C) of a search over boosted trees ends it with a warning: the settings that are scored are
    compared on the folds that all of them are scored on, and the best is fitted. With another family it leaves
    `cv_results_`, `best_params_` and `best_score_` of the settings that were scored on all folds, unless there are
    those of an earlier fit, which then stay; and is raised again.

    Attributes:
        cv_results_: Scores and times as in scikit-learn; of boosted trees `mean_n_rounds` beside, and with `factor`
            `iter`, how often a setting has gone on, and `n_resources`, the round at which it was stopped, or its end.
        best_estimator_: The estimator fitted on all rows with the best parameters, or the ensemble.
        best_score_: The mean score of the best setting; of an ensemble that of its out-of-fold predictions.
        best_params_: The parameters of the best setting; with `factor` of those that were never stopped.
        best_index_: Their place in `cv_results_`.
        oof_predictions_: For boosted trees the probabilities of classes, or predictions, of each row by the models that
            were not fitted on it, means over repeated folds; an array of settings, rows and columns, NaN of rows that
            no fold tests.
        learning_curves_: For boosted trees the loss on the test rows after each round, of each setting a list with an
            array a fold.
        ensemble_weights_: The share of every setting in the ensemble.
        n_resources_: With `factor` the rounds at which settings were compared, the last one included.
        n_candidates_: The number of settings that were.

    Raises:
        InvalidInputError: The estimator is none of jaxtree, there are no settings, a parameter is none of the
            estimator's, or an option is for boosted trees alone.
        InternalError: Settings could not be fitted together, but each of them alone.

    Example: survival times, scored by the concordance index on folds that keep the event of every row.
        >>> import numpy as np
        >>> from jaxtree import GradientBoostingRegressor
        >>> rng = np.random.default_rng(0)
        >>> X, event = rng.normal(size=(400, 2)), rng.random(400) < 0.7
        >>> time = rng.exponential(np.exp(X[:, 0]))
        >>> search = SearchCV(GradientBoostingRegressor(10, loss="cox"), {"max_depth": [1, 3]}, cv=3)
        >>> search = search.fit(X, time, event=event)
        >>> bool(search.best_score_ > 0.6), search.best_estimator_.predict_median(X).shape
        (True, (400,))
        >>> search.oof_predictions_.shape
        (2, 400, 1)
    """

    _estimators: ClassVar[tuple[type, ...]] = (KeptInFiles,)
    """The classes that are searched over."""

    _parameter_constraints: ClassVar[dict] = {
        **{name: BaseSearchCV._parameter_constraints[name] for name in ("refit", "cv", "error_score")},
        "scoring": [str, callable, list, tuple, dict, None],
        "param_grid": [dict, list],
        "n_iter": [None, whole(1)],
        "random_state": [*SEED],
        "verbose": ["verbose"],
        "return_train_score": ["boolean"],
        "factor": [None, Interval(Real, 1, None, closed="neither")],
        "min_resources": [whole(1)],
        "resume": [str, os.PathLike, None],
    }

    oof_predictions_: Float[np.ndarray, "setting row column"]

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_iter: int | None = None,
        random_state: Any = None,
        factor: float | None = None,
        min_resources: int = 10,
        resume: str | os.PathLike | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            estimator, scoring=scoring, refit=refit, cv=cv, error_score=error_score,
            return_train_score=return_train_score, verbose=verbose,
        )  # fmt: skip
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.random_state = random_state
        self.factor = factor
        self.min_resources = min_resources
        self.resume = resume

    @functools.partial(all_or_nothing, kept="cv_results_")
    def fit(self, X: Any, y: Any = None, *, mesh: Mesh | None = None, **params: Any) -> Self:
        """Scores every setting, and fits the best one, or the best ensemble, on all rows.

        Args:
            X: A table.
            y: Its target.
            mesh: Devices of one kind, in one axis, among which the boosted models of a fold are divided; those of a
                setting that shares no program, and those on all rows, are fitted on one. The models are those of one
                device.
            **params: Further arguments of `fit`, such as `sample_weight`, `event`, `group` and `offset`, split like the
                rows where they have a value for each; `X_val`, what else ends in "_val", and `eval_set` stay whole; and
                `groups` for the splitter.
        """
        forks.check_is_whole("a search")
        self._check_options(mesh)
        check_is_in_memory(X, "SearchCV")
        scorers, refit_metric = self._get_scorers()
        parameters = settings_of(self.param_grid, self.n_iter, self.random_state, "param_grid")
        halving = None if self.factor is None else self._halving(refit_metric)
        with self._placed(X, len(parameters), mesh):
            search = self._search_of(X, y, params, parameters)._replace(scorer=scorers, mesh=mesh)
            trials = Trials(len(search.splits))
            trials.add(search, parameters)
            for trial in trials:
                if search.makes_rounds:
                    trial.estimator.check_parameters()
                elif hasattr(search.estimator, "oob_score"):
                    trial.estimator = only_scored(search, trial.estimator)
            self._score(search, halving or AllAtOnce(), trials, refit_metric)
            if self._asks_for_ensemble():
                self._fit_ensemble(search._replace(splits=search.splits[: trials.num_folds]), trials)
            elif self.refit:
                self._refit(search)
        return self

    def _check_options(self, mesh: Mesh | None) -> None:
        """Raises InvalidInputError if an option is not allowed, or not for the estimator."""
        estimator = self.estimator
        if not isinstance(estimator, KeptInFiles):
            raise InvalidInputError(
                f"SearchCV searches over estimators of jaxtree, got {type(estimator).__name__}; "
                "sklearn.model_selection.GridSearchCV searches over anything, pipelines with estimators of jaxtree too"
            )
        self._validate_params()
        draws = self.n_iter is not None or self.factor is not None
        if self.resume is not None and draws and not isinstance(self.random_state, int | np.integer):
            raise InvalidInputError(
                "resume needs the same draws again: random_state must be a whole number with n_iter or factor, got "
                f"{self.random_state!r}"
            )
        is_ensemble = self._asks_for_ensemble()
        if is_ensemble:
            check_can_average(estimator, self.refit, self.scoring)
        if mesh is not None:
            check_mesh(mesh)
        for name, given in {"mesh": mesh, "factor": self.factor, "refit": self.refit if is_ensemble else None}.items():
            if given is not None and not makes_rounds(estimator, self.return_train_score):
                raise InvalidInputError(
                    f"{name}={given!r} is for searches over boosted trees without training scores, got "
                    f"{type(estimator).__name__} and return_train_score={self.return_train_score}"
                )

    def _asks_for_ensemble(self) -> bool:
        return isinstance(self.refit, str) and self.refit in (ENSEMBLE, FOLD_ENSEMBLE)

    def _get_scorers(self) -> tuple[Any, Any]:
        """Returns scikit-learn's scorers, which score parts without a class too, and the metric that chooses."""
        scoring, refit = self.scoring, self.refit
        self.scoring, self.refit = scorers_of(scoring), self._asks_for_ensemble() or refit
        try:
            scorers, refit_metric = super()._get_scorers()
        finally:
            self.scoring, self.refit = scoring, refit
        return (scorers if scoring is None else apart(of_all_classes(scorers))), refit_metric

    def _halving(self, refit_metric: Any) -> Halving:
        """Returns the strategy that drops settings."""
        metric = self.refit if callable(self.scoring) and isinstance(self.refit, str) else refit_metric
        if not isinstance(metric, str) or metric in (ENSEMBLE, FOLD_ENSEMBLE):
            raise InvalidInputError(f"factor compares settings by one metric: refit must name it, got {self.refit!r}")
        return Halving(present(self.factor), self.min_resources, metric, self.random_state)

    def _search_of(self, X: Any, y: Any, params: dict[str, Any], parameters: list[Parameters]) -> Search:
        """Returns the problem: the rows of every fold, and the arguments of fits and scores."""
        for name in NOT_ALWAYS:
            vars(self).pop(name, None)
        X, y = indexable(X, plain_target(y))
        routed = self._get_routed_params_for_fit(check_method_params(X, params=params))
        fit_params = routed.estimator.fit
        if fit_params:
            check_arguments_of_fits(self.estimator, fit_params, parameters)
        self._check_scoring(y)
        splits = folds_of(self.estimator, X, y, self.cv, routed.splitter.split, fit_params)
        self.n_splits_ = len(splits)
        score_params = {**extras_of_scores(self.estimator, self.scoring, fit_params), **routed.scorer.score}
        given = {"error_score": self.error_score, "return_train_score": self.return_train_score}
        return Search(clone(self.estimator), X, y, splits, fit_params=fit_params, score_params=score_params, **given)

    def _score(self, search: Search, strategy: Strategy, trials: Trials, refit_metric: Any) -> None:
        """Scores all settings on all folds.

        After an interrupt it takes the boosted settings and folds that are comparable, with a warning; of other
        families it takes the settings that are scored on all folds, and raises the interrupt again.
        """
        num_settings, num_folds = len(trials), trials.num_folds
        total = num_folds * sum(trials.each("most_rounds"))
        doing = f"{num_settings} setting{'s' * (num_settings > 1)} x {num_folds} folds"
        measure = self._measure_of(refit_metric if isinstance(refit_metric, str) else "score", search.scorer)
        try:
            with (
                self._journal(search, trials) as journal,
                progress_of(self.verbose, total, doing, "%") as report,
            ):
                run(search, strategy, trials, report, journal, measure)
        except KeyboardInterrupt:
            if not search.makes_rounds:
                # Whatever is wrong with the results, the interrupt is what the caller is to see.
                with contextlib.suppress(Exception):
                    trials.leave_out_unfinished()
                    if len(trials):
                        self._choose(search, trials, refit_metric, {})
                raise
            trials.leave_out_incomparable()
            if not len(trials):
                raise
            text = f"{len(trials)} of {num_settings} settings on {trials.num_folds} of {num_folds} folds"
            warn_user(f"the search was interrupted: it has scores of {text}", InterruptedFitWarning)
        self._choose(search, trials, refit_metric, self._results_of_rounds(search, strategy, trials))

    def _journal(self, search: Search, trials: Trials) -> contextlib.AbstractContextManager[Journal | None]:
        """Opens the file from which the search is taken up, and into which it is written; None if there is none."""
        if self.resume is None:
            return contextlib.nullcontext()
        options = {"return_train_score": self.return_train_score, "error_score": self.error_score}
        options |= {"factor": self.factor, "min_resources": self.min_resources, "random_state": self.random_state}
        return Journal(self.resume, made_with(search, trials.settings, self.scoring, options))

    def _results_of_rounds(self, search: Search, strategy: Strategy, trials: Trials) -> dict[str, Any]:
        """Sets the results that boosted trees have beside their scores, and returns more columns of `cv_results_`."""
        if not search.makes_rounds:
            return {}
        trials.predict(search)
        self.n_splits_ = trials.num_folds
        self.learning_curves_, self.oof_predictions_ = trials.curves, trials.predicted
        rounds = trials.num_rounds
        columns: dict[str, Any] = {f"split{fold}_n_rounds": column for fold, column in enumerate(rounds.T)}
        columns["mean_n_rounds"] = rounds.mean(axis=1)
        if isinstance(strategy, Halving):
            columns |= {"iter": np.array(trials.each("rung")), "n_resources": np.array(trials.each("num_rounds"))}
            self.n_resources_ = [*strategy.rungs(trials.most_rounds), trials.most_rounds]
            self.n_candidates_ = [int((columns["iter"] >= rung).sum()) for rung in range(len(self.n_resources_))]
        return columns

    def parameter_importances(
        self, metric: str | None = None, *, n_repeats: int = 20, random_state: int = 0
    ) -> ParameterImportances:
        """Returns how much each parameter counts for the mean scores of the settings.

        A random forest predicts the score from the settings; what counts is the coefficient of determination that it
        loses when the values of a parameter are shuffled (see `jaxtree.search.results.parameter_importances`).

        Args:
            metric: The name of the metric; the one that chose if not given.
            n_repeats: How often every parameter is shuffled.
            random_state: The seed of the forest and the shuffles.

        Raises:
            InvalidInputError: There is no such metric, or there are too few settings with scores.
        """
        check_is_fitted(self, "cv_results_")
        metric = metric or self._metric_that_chose()
        return parameter_importances(self.cv_results_, metric, n_repeats=n_repeats, random_state=random_state)

    def leaderboard(self, metric: str | None = None) -> Leaderboard:
        """Returns the settings, the best first: a dict of columns, which `pandas.DataFrame` takes.

        The score stands there by the name of what is measured, a loss without its sign; settings that successive
        halving has dropped stand below those that went on longer, and failed ones last.

        Args:
            metric: The name of the metric of a search by several; the one that chose if not given.

        Raises:
            InvalidInputError: There is no such metric.

        Example:
            >>> from sklearn.datasets import load_iris
            >>> from jaxtree import DecisionTreeClassifier
            >>> X, y = load_iris(return_X_y=True)
            >>> board = SearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, cv=3).fit(X, y).leaderboard()
            >>> [*board], board["max_depth"].tolist()
            (['rank', 'accuracy', 'se', 'seconds', 'setting', 'max_depth'], [3, 2, 1])
        """
        return make_leaderboard(self._scored(metric))

    def to_html(self, *, title: str | None = None, metric: str | None = None) -> Page:
        """Returns a page about the settings: their history, scores by parameter, lines side by side, and the best.

        Args:
            title: The heading of the page; "Search over ..." if not given.
            metric: The name of the metric of a search by several; the one that chose if not given.

        Raises:
            InvalidInputError: There is no such metric.
            MissingExtraError: jinja2 is not installed.
            sklearn.exceptions.NotFittedError: There was no fit.
        """
        from jaxtree.page.scores import Fact
        from jaxtree.page.tuned import TOO_GOOD, searched_page

        scored, name = self._scored(metric), type(self.estimator).__name__
        best, number = scored.order()[0], len(scored.settings)
        facts = [
            Fact(f"best setting: {scored.measure}", score_in_words(float(scored.shown(scored.means[best])))),
            Fact("settings", f"{number:,}"),
            Fact("folds", str(self.n_splits_)),
            Fact("fits", duration_in_words(float(scored.fit_seconds.sum()))),
        ]
        num_failed = int((~scored.is_known).sum())
        notes = [TOO_GOOD]
        if num_failed:
            notes.append(f"{num_failed} of {number} settings failed on a fold, and have no score.")
        if scored.rung.any():
            dropped = int((scored.rung < scored.rung.max()).sum())
            notes.append(f"{dropped} settings were dropped by successive halving: their scores are of fewer rounds.")
        return searched_page(
            scored,
            self._importances_of_parameters(metric),
            getattr(self, "best_estimator_", None),
            title=f"Search over {name}" if title is None else title,
            estimator=name,
            summary=facts,
            notes=notes,
        )

    def _importances_of_parameters(self, metric: str | None) -> list[tuple[str, float]]:
        """Parameters by how much they count; none where there are too few settings."""
        try:
            return self.parameter_importances(metric).ranked()
        except InvalidInputError:
            return []

    def _scored(self, metric: str | None) -> ScoredSettings:
        """The settings with their scores by a metric."""
        check_is_fitted(self, "cv_results_")
        results, metric = self.cv_results_, metric or self._metric_that_chose()
        if f"mean_test_{metric}" not in results:
            known = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
            raise InvalidInputError(f"metric must be one of {', '.join(known)}, got {metric!r}")
        measure = self._measure_of(metric, self.scorer_)
        number = len(results["params"])
        scores = np.stack([results[f"split{fold}_test_{metric}"] for fold in range(self.n_splits_)], axis=1)
        curves = getattr(self, "learning_curves_", None)
        return ScoredSettings(
            results["params"],
            np.where(np.isfinite(scores), scores, np.nan).astype(np.float64),
            measure.in_words,
            measure.is_loss,
            scales_of_space(self.param_grid),
            np.asarray(results["mean_fit_time"] * self.n_splits_, np.float64),
            results.get("mean_n_rounds"),
            curves,
            None,
            getattr(self, "ensemble_weights_", None),
            np.asarray(results.get("iter", np.zeros(number)), np.int64),
        )

    def _metric_that_chose(self) -> str:
        """The name of the metric by which settings are compared; of several without one the first."""
        if not self.multimetric_:
            return "score"
        if isinstance(self.refit, str):
            return self.refit
        return next(name.removeprefix("mean_test_") for name in self.cv_results_ if name.startswith("mean_test_"))

    def _measure_of(self, metric: str, scorers: Any) -> SearchMeasure:
        """The words for what a metric of some scorers measures."""
        name, is_loss = metric, metric.startswith("neg_")
        if metric == "score":
            function = getattr(scorers, "_score_func", None)
            if isinstance(self.scoring, str):
                name, is_loss = self.scoring, self.scoring.startswith("neg_")
            elif self.scoring is not None:
                name, is_loss = getattr(function, "__name__", "score"), getattr(scorers, "_sign", 1) < 0
            else:
                name = getattr(getattr(self, "best_estimator_", self.estimator), "score_name_", "score")
        return SearchMeasure(metric, name.removeprefix("neg_").replace("_", " "), is_loss)

    def __sklearn_tags__(self):
        """Returns scikit-learn's tags: tables may hold what the estimator's may."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, self._estimators):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

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

    def _choose(self, search: Search, trials: Trials, refit_metric: Any, columns: dict[str, Any]) -> None:
        """Puts the results in scikit-learn's form, with further columns, and finds the best."""
        results = trials.of_fits("result")
        flat: Any = [*itertools.chain(*results)]
        warn_about_failures(flat, self.error_score)
        if callable(self.scoring):
            insert_error_scores(flat, self.error_score)
        _even_out(results)
        formatted = self._format_results(trials.settings, trials.num_folds, flat, columns)
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

    def _select_best_index(self, refit: Any, refit_metric: Any, results: Any) -> Any:
        """Returns the place of the best setting, of those that went on to the end."""
        if callable(refit) or "iter" not in results:
            return super()._select_best_index(refit, refit_metric, results)
        last = np.flatnonzero(results["iter"] == results["iter"].max())
        return int(last[results[f"rank_test_{refit_metric}"][last].argmin()])

    def _refit(self, search: Search) -> None:
        """Fits the best setting on all rows."""
        began = time.perf_counter()
        best: Any = clone(self.best_params_, safe=False)
        blank: Any = clone(search.estimator)
        self.best_estimator_ = configured(blank, best).fit(search.X, search.y, **search.fit_params)
        self.refit_time_ = time.perf_counter() - began
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def _fit_ensemble(self, search: Search, trials: Trials) -> None:
        """Chooses an ensemble by the out-of-fold predictions, and fits it on all rows."""
        given = search, trials.settings, self._able(trials), trials.predicted, self.scorer_
        ensemble = fit_ensemble(*given, of_folds=self.refit == FOLD_ENSEMBLE)
        self.best_estimator_, self.ensemble_weights_, self.best_score_ = ensemble

    def _able(self, trials: Trials) -> Int[np.ndarray, " able"]:
        """Returns the numbers of the settings that went on to the end and did not fail."""
        rung, is_missing = np.array(trials.each("rung")), np.any(np.isnan(trials.predicted), axis=2)
        # A fold that no setting has been fitted on says nothing of any.
        has_failed = np.any(is_missing & ~np.all(is_missing, axis=0), axis=1)
        able = np.flatnonzero((rung == rung.max()) & ~has_failed)
        if not len(able):
            raise TrainingError(f"refit={self.refit!r} needs a setting whose fits failed on no fold, got none")
        return able


def even_out(scores: Float[np.ndarray, " setting"]) -> Float[np.ndarray, " setting"]:
    """Makes scores equal that differ only by rounding, so that rounding decides no rank."""
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(scores[known], kind="stable")]
    step = np.diff(scores[order], prepend=-np.inf)
    first = np.flatnonzero(step > ROUNDING * np.abs(scores[known]).max(initial=0.0))
    result = scores.copy()
    result[order] = np.repeat(scores[order[first]], np.diff(first, append=order.size))
    return result


def _even_out(results: list[list[Any]]) -> None:
    """Makes scores on a fold equal that differ by rounding alone."""
    for fold in zip(*results, strict=True):
        scores = [result["test_scores"] for result in fold]
        is_one = not isinstance(scores[0], dict)
        by_name = {"test_scores": fold} if is_one else dict.fromkeys(scores[0], scores)
        for name, owners in by_name.items():
            evened = even_out(np.array([owner[name] for owner in owners], np.float64))
            for owner, score in zip(owners, evened.tolist(), strict=True):
                owner[name] = score
