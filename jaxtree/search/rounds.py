"""A search over boosted trees: all settings make their rounds side by side, and the worst may be dropped on the way.

In successive halving only the best settings go on after some rounds, and after more the best of these. A *rung* is a
number of rounds at which settings are compared (Jamieson and Talwalkar, *Non-stochastic best arm identification and
hyperparameter optimization*, AISTATS 2016). Models pause at a rung, so that those that go on make no round again.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, warn_user
from jaxtree.estimators.common.conventions import configured, progress_of
from jaxtree.search.boosted_folds import Fitted, Leg, SearchProgress, fit_folds
from jaxtree.search.evaluation import Results, Search
from jaxtree.search.out_of_fold import out_of_fold


class Halving(NamedTuple):
    """When settings are dropped.

    Attributes:
        factor: The number of compared settings of which one goes on.
        first: The rounds of the first rung; those of each next one are more by the factor.
        metric: The name of the metric that compares.
    """

    factor: float
    first: int
    metric: str

    def rungs(self, most: int) -> list[int]:
        """Returns the rounds of all rungs, for models of at most so many rounds.

        Example:
            >>> Halving(3, 10, "score").rungs(100), Halving(2, 200, "score").rungs(100)
            ([10, 30, 90], [])
        """
        number = math.ceil(math.log(max(most / self.first, 1), self.factor)) + 1
        rounds = dict.fromkeys(int(self.first * self.factor**rung) for rung in range(number))
        return [rung for rung in rounds if rung < most]

    def goes_on(self, scores: Float[np.ndarray, " setting"]) -> Bool[np.ndarray, " setting"]:
        """Returns which settings are not dropped, those as good as the last that goes on included.

        Example:
            >>> Halving(2, 10, "score").goes_on(np.array([0.5, 0.9, np.nan, 0.7, 0.5])).tolist()
            [True, True, False, True, True]
        """
        known = np.where(np.isnan(scores), -np.inf, scores)
        number = math.ceil(len(scores) / self.factor)
        return known >= np.sort(known)[-number]


class Standings:
    """The fits of all settings on all folds, as they stand.

    Attributes:
        most: The most rounds of every setting.
        num_folds: The number of folds.
        fits: The fits of every setting on all folds, after the last rung at which all were there; or an empty list.
        rung: The number of that rung, or of the end.
        num_rounds: The rounds that the setting may have made by then.
    """

    def __init__(self, most_rounds: list[int], num_folds: int):
        self.most, self.num_folds = most_rounds, num_folds
        self.fits: list[list[Fitted]] = [[] for _ in most_rounds]
        self.rung, self.num_rounds = np.zeros(len(most_rounds), int), np.zeros(len(most_rounds), int)
        # Fits of the present part of the rounds.
        self.newest: list[list[Fitted | None]] = [[None] * num_folds for _ in most_rounds]
        self._leg, self._until = 0, np.array(most_rounds)

    def most_rounds(self) -> dict[tuple[int, int], int]:
        """Returns the most rounds of every model, by setting and fold."""
        folds = range(self.num_folds)
        return {(setting, fold): number for setting, number in enumerate(self.most) for fold in folds}

    def begin(self, number: int, leg: Leg, alive: Bool[np.ndarray, " setting"]) -> None:
        """Begins the way of the settings that are alive to the next rung."""
        self._leg, self._until = number, np.minimum(leg.until or max(self.most), self.most)
        for setting in np.flatnonzero(alive).tolist():
            for fold in range(self.num_folds):
                if leg.goes(setting, fold):
                    self.newest[setting][fold] = None
            self._settle(setting)

    def keep(self, setting: int, fold: int, fitted: Fitted) -> None:
        """Takes a fit."""
        self.newest[setting][fold] = fitted
        self._settle(setting)

    def kept(self) -> tuple[list[int], int]:
        """Returns the settings that can be compared, and the number of first folds that they can be compared on.

        These are all, unless there was an interrupt; then there are as many fits of so many settings and folds as can
        be.
        """
        num_folds = self.num_folds
        if all(self.fits):
            return [*range(len(self.fits))], num_folds
        scored = [
            num_folds if row else (*newest, None).index(None)
            for row, newest in zip(self.fits, self.newest, strict=True)
        ]
        number = max(range(1, num_folds + 1), key=lambda own: (own * sum(one >= own for one in scored), own))
        return [setting for setting, own in enumerate(scored) if own >= number], number

    def row(self, setting: int, num_folds: int) -> list[Any]:
        """Returns the fits of a setting on the first folds."""
        return (self.fits[setting] or self.newest[setting])[:num_folds]

    def _settle(self, setting: int) -> None:
        row = [own for own in self.newest[setting] if own is not None]
        if len(row) == self.num_folds:
            self.fits[setting], self.rung[setting], self.num_rounds[setting] = row, self._leg, self._until[setting]


class ScoredInRounds(NamedTuple):
    """The scored settings of a search over boosted trees.

    Attributes:
        search: The task, of the settings and folds that can be compared: of all, unless there was an interrupt.
        results: A row for every setting, with the result of every fold.
        columns: Further columns of `cv_results_`.
        known: Further attributes of the search.
    """

    search: Search
    results: Results
    columns: dict[str, Any]
    known: dict[str, Any]


def search_in_rounds(search: Search, settings: list[Any], halving: Halving | None, verbose: int) -> ScoredInRounds:
    """Fits and scores all settings on all folds.

    An interrupt ends it with a warning, if settings can be compared by then.

    Args:
        search: The task.
        settings: The estimators with the parameters of its candidates.
        halving: When settings are dropped; never if None.
        verbose: 1 for a bar of progress, with the number of models alive; n for a line every n rounds.

    Raises:
        KeyboardInterrupt: There was an interrupt before any setting had a score.
    """
    standings = Standings([own.most_rounds for own in settings], len(search.splits))
    rounds = standings.most_rounds()
    try:
        with progress_of(verbose, sum(rounds.values()), "fitting settings", "rounds") as report:
            fit_settings(search, settings, halving, standings, SearchProgress(report, rounds))
    except KeyboardInterrupt:
        if not standings.kept()[0]:
            raise
        _warn_of_interrupt(standings)
    return _known_of(search, standings, halving)


def _known_of(search: Search, standings: Standings, halving: Halving | None) -> ScoredInRounds:
    numbers, num_folds = standings.kept()
    kept = [search.candidates[number] for number in numbers]
    search = search._replace(candidates=kept, splits=search.splits[:num_folds])
    fits = [standings.row(number, num_folds) for number in numbers]
    rounds = np.array([[own.num_rounds for own in row] for row in fits])
    columns = {f"split{fold}_n_rounds": column for fold, column in enumerate(rounds.T)}
    columns["mean_n_rounds"] = rounds.mean(axis=1)
    known: dict[str, Any] = {"learning_curves_": [[own.curve for own in row] for row in fits]}
    known["oof_predictions_"] = out_of_fold(search, fits)
    if halving is not None:
        columns |= {"iter": standings.rung[numbers], "n_resources": standings.num_rounds[numbers]}
        rungs = [*halving.rungs(max(standings.most)), max(standings.most)]
        known["n_candidates_"] = [int((columns["iter"] >= rung).sum()) for rung in range(len(rungs))]
        known["n_resources_"] = rungs
    results: Results = [[own.result for own in row] for row in fits]
    return ScoredInRounds(search, results, columns, known)


def _warn_of_interrupt(standings: Standings) -> None:
    """Warns of what an interrupt leaves."""
    settings, num_folds = standings.kept()
    text = (
        f"the search was interrupted: it has scores of {len(settings)} of {len(standings.most)} settings on {num_folds}"
        f" of {standings.num_folds} folds"
    )
    warn_user(text, InterruptedFitWarning)


def fit_settings(
    search: Search,
    settings: Sequence[Any],
    halving: Halving | None,
    standings: Standings,
    progress: SearchProgress,
    deadline: Deadline | None = None,
) -> None:
    """Fits and scores all settings on all folds, and drops some on the way.

    Args:
        search: The task.
        settings: The estimators with the parameters of its candidates.
        halving: When settings are dropped; never if None.
        standings: Gets the fits.
        progress: Is told of rounds.
        deadline: When the models end with the rounds that they have; see `fit_folds`.
    """
    ends = [*([] if halving is None else halving.rungs(max(standings.most))), None]
    alive, paused = np.ones(len(standings.most), bool), None
    for number, until in enumerate(ends):
        leg = Leg(until, paused, {})
        standings.begin(number, leg, alive)

        def keep(setting: int, fold: int, fitted: Fitted, leg: Leg = leg) -> None:
            standings.keep(setting, fold, fitted)
            if (setting, fold) not in leg.pausing:
                progress.ended(setting, fold, len(fitted.curve))

        fit_folds(search, settings, leg, keep, progress, deadline)
        if halving is None or until is None:
            break
        alive[alive] = halving.goes_on(_mean_scores(standings, np.flatnonzero(alive), halving.metric))
        paused = {own: state for own, state in leg.pausing.items() if alive[own[0]]}
        for setting, fold in sorted(set(leg.pausing) - set(paused)):
            progress.ended(setting, fold, until)


def _mean_scores(standings: Standings, settings: Any, metric: str) -> Float[np.ndarray, " setting"]:
    """The mean of the folds' scores of some settings."""
    scores = [[own.result["test_scores"] for own in standings.fits[number]] for number in settings]
    return np.array([[own[metric] if isinstance(own, dict) else own for own in row] for row in scores]).mean(axis=1)


def with_seeds(settings: Sequence[Any], random_state: Any) -> list[Any]:
    """Returns settings whose models draw the same whenever they go on: each has a whole number as seed.

    Raises:
        InvalidInputError: The models of a setting cannot pause.
    """
    seed = int(random_state.randint(2**31 - 1))
    seeded = []
    for own in settings:
        for name, is_allowed in {"drop_rate": own.drop_rate == 0, "warm_start": not own.warm_start}.items():
            if not is_allowed:
                raise InvalidInputError(
                    f"factor is for models that can pause, and those with {name}={getattr(own, name)!r} cannot"
                )
        is_drawn = not isinstance(own.random_state, int | np.integer)
        seeded.append(configured(own, {"random_state": seed}) if is_drawn else own)
    return seeded
