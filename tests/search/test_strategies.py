"""The loop of all searches: what a strategy asks for is fitted and scored, in whatever batches."""

import pytest
from sklearn.metrics import get_scorer

from jaxtree import DecisionTreeClassifier, GradientBoostingClassifier, RandomForestClassifier
from jaxtree.search.evaluation import Search
from jaxtree.search.strategies import AllAtOnce, run
from jaxtree.search.trials import TrialBatch, Trials
from tests.marks import rest_is_slow
from tests.search.beside import FOLDS, numbers

X, Y = numbers()
SETTINGS = [{"max_depth": depth} for depth in (1, 3, 2, None)]


class InPairs:
    """A strategy that begins two settings at a time, the last ones first."""

    def __init__(self):
        self.left, self.told = list(SETTINGS), []

    def ask(self, trials):
        pair, self.left = self.left[-2:], self.left[:-2]
        return TrialBatch(trials.add(self.search, pair)) if pair else None

    def tell(self, trials, paused):
        self.told.append(len(trials))


@pytest.mark.parametrize(
    "estimator",
    rest_is_slow(
        [
            DecisionTreeClassifier(random_state=0),
            RandomForestClassifier(2, random_state=0),
            GradientBoostingClassifier(3, random_state=0),
        ]
    ),
    ids=lambda own: type(own).__name__,
)
def test_scores_do_not_depend_on_the_batches(estimator):
    search = Search(estimator, X, Y, FOLDS, get_scorer("accuracy"))
    at_once, in_pairs, strategy, reported = Trials(3), Trials(3), InPairs(), []
    at_once.add(search, SETTINGS)
    run(search, AllAtOnce(), at_once, lambda number, words: reported.append(number))
    strategy.search = search
    run(search, strategy, in_pairs)
    assert strategy.told == [2, 4] and in_pairs.settings == SETTINGS[2:] + SETTINGS[:2]
    one, other = (
        [[own["test_scores"] for own in row] for row in trials.of_fits("result")] for trials in (at_once, in_pairs)
    )
    assert one == other[2:] + other[:2]
    assert sum(reported) == 3 * sum(at_once.each("most_rounds"))
