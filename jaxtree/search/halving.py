"""Successive halving: after some rounds only the best settings of boosted trees go on, after more the best of these.

A *rung* is a number of rounds at which settings are compared (Jamieson and Talwalkar, *Non-stochastic best arm
identification and hyperparameter optimization*, AISTATS 2016). Models pause at a rung, so that those that go on make no
round again.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InvalidInputError
from jaxtree.search.boosted_folds import Fitted, Leg, fit_folds
from jaxtree.search.evaluation import Search
from jaxtree.search.search_progress import SearchProgress
from jaxtree.search.settings import configured


class Halving(NamedTuple):
    """When settings are dropped.

    Attributes:
        factor: Of the settings that are compared, the best of so many goes on.
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
        fits: Of every setting its fits on all folds, after the last rung at which all were there; or an empty list.
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
