"""The tree that chooses an action for every row, so that rewards are greatest in all."""

import copy
import dataclasses
import math
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from jaxtyping import Float, Float64, Shaped

from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.exchange import LONE, Exchange
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InvalidInputError, InvalidTypeError, all_or_nothing, present
from jaxtree.estimators.common.growing import GrowthTask, grow_tables
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.trees.base import BaseTreeClassifier
from jaxtree.estimators.trees.optimal import OptimalSearch
from jaxtree.optimal.costs import CostedTarget, cost_of_rewards
from jaxtree.table.names import are_places
from jaxtree.table.probabilities import ClassProbabilities
from jaxtree.table.sources import as_frame, is_source
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import Tree

REWARD = "reward"
"""The field of a row's rewards."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class PolicyTree(OptimalSearch, BaseTreeClassifier):
    r"""The best policy that a tree of a small depth can be: no other tree gains more reward.

    A policy chooses one action for every row. Given the reward $r_{ia}$ of every action in every row, any numbers, the
    tree maximises

    $$\sum_i w_i r_{i\pi(x_i)} - \text{leaf_penalty} \cdot \text{leaves}$$

    over all trees $\pi$ whose leaves are at most `max_depth` splits deep and choose an action each. With doubly robust
    scores as rewards (`jaxtree.effects.doubly_robust_rewards`) it is the policy that learns from observed treatments
    (Athey and Wager, *Policy learning with observational data*, Econometrica 89, 2021; Zhou, Athey and Wager, *Offline
    multi-action policy learning*, Operations Research 71, 2023); where the actions cost something, subtract that.

    The search is that of `OptimalTreeClassifier`, where a reward of 1 for the class of a row and 0 for others makes it
    the same tree. Two levels are searched among all thresholds: as rows pass a first threshold one by one, the best
    second splits on both of its sides follow in a number of steps that is the logarithm of that of rows. Three levels
    of some hundred rows and few columns are proven, too. Trees of more levels, of more rows, and those with a
    `min_samples_leaf` or a `max_leaf_nodes`, are the best among some thresholds of every column, made better
    thereafter; `optimality_` says which.

    A constant that is added to all rewards of a row changes nothing. Among equally good trees that of the fewest leaves
    is taken, and among equally good actions the first in ascending order. Rows whose actions have all the same reward
    count among `min_samples_leaf`, and change nothing else.

    Attributes:
        tree_: The fitted `jaxtree.Tree`. The weight of an action at a node is what it gains there beside the worst
            action of every row; `predict_proba` has the shares of these.
        value_: The mean reward of the policy on the rows of the fit. It flatters: on other rows `score` says the truth.
        optimality_: "proven" if no tree of the limits gains more, "proven on bins" if some thresholds were left out;
            where the search of four or five levels ended early, the share of the objective that another tree may save.
        objective_: By how much the best action of every row gains more in all, with penalties of leaves.
        schema_: Columns and features in words.
        classes_: The actions in ascending order: the names of the columns of a frame, or numbers from 0.

    Example:
        >>> X = [[a, b] for a in (0, 1) for b in (0, 1) for _ in range(3)]
        >>> rewards = [[0.0, 1.0 if a != b else -1.0] for a, b in X]  # of no treatment, and of one
        >>> policy = PolicyTree(max_depth=2).fit(X, rewards)
        >>> policy.predict([[0, 0], [0, 1]]), policy.value_, policy.optimality_
        (array([0, 1]), 0.5, 'proven')
    """

    learns_from_rewards = True
    """Whether `fit` takes rewards of actions in the place of targets."""

    criterion: ClassVar[str] = "misclassification"

    @all_or_nothing
    def fit(self, X: Any, rewards: Any, sample_weight: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Finds the best policy.

        Args:
            X: A table of shape (rows, columns), as of `OptimalTreeClassifier`.
            rewards: The reward of every action in every row, [row, action]: an array, nested lists, or a frame whose
                columns name the actions.
            sample_weight: The weight of every row; a row of weight 0 is left out.

        Raises:
            InvalidInputError: The table, the rewards, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read, or is a source.
        """
        with placed_fit(self, X, None) as exchange:
            task = self.growth_task(X, rewards, sample_weight, exchange=exchange)
            (grown,) = grow_tables([task], None)
            return self.finish_fit(grown, task)

    def growth_task(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        same_as: Dataset | None = None,
        exchange: Exchange = LONE,
    ) -> GrowthTask:
        """Reads the arguments of a fit; the target is the rewards."""
        if is_source(X):
            raise InvalidTypeError("PolicyTree takes a table in memory, and rewards with as many rows, got a source")
        reward, actions = read_rewards(y)
        order = np.argsort(actions, kind="stable")
        # Probabilities name the actions, and order words by them; the rewards come with the rows.
        nominal = ClassProbabilities(_shares_of_gains(reward), actions)
        task = super().growth_task(
            X, nominal, sample_weight, X_val, y_val, sample_weight_val, same_as=same_as, exchange=exchange
        )
        data, there = task.data, task.data.has_weight
        own = reward[:, order] if there is None else reward[there][:, order]
        if task.recipe.ordered is not None:
            ordered = copy.copy(task.recipe.ordered)
            ordered.data = _with_rewards(ordered.data, own)
            task = task._replace(recipe=task.recipe._replace(ordered=ordered))
        return task._replace(data=_with_rewards(data, own))

    def _check_sample(self, sample: Sample, exchange: Exchange) -> None:
        needs = self.needs_classes()
        if needs is not None:
            raise InvalidInputError(f"{needs} looks at the class of every row, and rewards name none")
        super()._check_sample(sample, exchange)

    def costed_target(self, data: Dataset, target: Any, least_rows: int) -> CostedTarget:
        """Returns the cost of leaves: the regret of their actions."""
        return cost_of_rewards(data.fields[REWARD].T, data.weight, least_rows)

    def finish_fit(self, grown: Tree, task: GrowthTask) -> Any:
        """Prunes the tree that was found, makes it ready for prediction, and takes its mean reward."""
        super().finish_fit(grown, task)
        reward = task.data.fields[REWARD]
        weight = np.ones(len(reward)) if task.data.weight is None else task.data.weight
        tree = self.tree_
        regret = math.fsum((tree.impurity * tree.weight)[tree.is_leaf])
        self.value_ = (math.fsum(weight * reward.max(axis=1)) - regret) / math.fsum(weight)
        return self

    def score(self, X: Any, rewards: Any, sample_weight: Any = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns the mean reward of the policy.

        Args:
            X: A table.
            rewards: The reward of every action in every row, with the actions of the fit.
            sample_weight: The weight of every row; 1 if not given.

        Raises:
            InvalidInputError: The rewards have other actions or another number of rows than the fit or the table, or
                a value that is not allowed.
        """
        reward, actions = read_rewards(rewards)
        order = np.argsort(actions, kind="stable")
        if not np.array_equal(actions[order], self.classes_):
            raise InvalidInputError(
                f"rewards must have the actions of the fit, {self.classes_.tolist()}, got {actions.tolist()}"
            )
        action = np.searchsorted(self.classes_, self.predict(X))
        if len(action) != len(reward):
            raise InvalidInputError(f"rewards must have {len(action)} rows, as X has, got {len(reward)}")
        weight = check_sample_weight(sample_weight, len(reward))
        return float(np.average(reward[np.arange(len(reward)), order[action]], weights=weight))


def read_rewards(given: Any) -> tuple[Float64[np.ndarray, "row action"], Shaped[np.ndarray, " action"]]:
    """Reads rewards, and the names of the actions.

    Args:
        given: A frame whose columns are actions, or an array, whose actions are numbers from 0.

    Raises:
        InvalidInputError: There are fewer than two actions, two have the same name, or a reward is no finite number.

    >>> read_rewards([[0, 1.5], [2, -1]])
    (array([[ 0. ,  1.5],
           [ 2. , -1. ]]), array([0, 1]))
    """
    frame = as_frame(given)
    names = list(frame.columns) if isinstance(frame, nw.DataFrame) else None
    try:
        table = np.asarray(frame.to_numpy() if isinstance(frame, nw.DataFrame) else given, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            "rewards must be numbers, a row for every row of X and a column for every action, got "
            f"{type(given).__name__}"
        ) from None
    if table.ndim != 2 or table.shape[1] < 2 or len(table) == 0:
        raise InvalidInputError(
            "rewards must have a row for every row of X, and a column for every action, two or more, got shape "
            f"{table.shape}; with a treatment or none, the reward of none may be 0"
        )
    actions = np.arange(table.shape[1]) if names is None or are_places(names) else np.array(present(names))
    if len(np.unique(actions)) != len(actions):
        raise InvalidInputError(f"rewards must have one column for every action, got {actions.tolist()}")
    is_wrong = ~np.isfinite(table)
    if is_wrong.any():
        row, action = np.argwhere(is_wrong)[0].tolist()
        raise InvalidInputError(
            f"rewards must be finite numbers, got {table[row, action]} in row {row} of action {actions[action]}"
        )
    if not np.isfinite(_spread(table)):
        raise InvalidInputError("rewards differ by more than numbers can say: divide them by a constant")
    return table, actions


def _spread(table: Float[np.ndarray, "row action"]) -> float:
    """The sum of the greatest differences of all rows."""
    with np.errstate(over="ignore"):
        return float((table.max(axis=1) - table.min(axis=1)).sum())


def _with_rewards(data: Dataset, reward: Float64[np.ndarray, "row action"]) -> Dataset:
    """Returns rows with the rewards of their actions."""
    return data._replace(sample=data.sample._replace(fields={REWARD: reward}))


def _shares_of_gains(reward: Float64[np.ndarray, "row action"]) -> Float64[np.ndarray, "row action"]:
    """Returns shares of actions: half of them alike, half by what each gains beside the row's worst."""
    gain = reward - reward.min(axis=1, keepdims=True)
    most = gain.max(axis=1, keepdims=True)
    gain = np.divide(gain, most, out=np.ones_like(gain), where=most > 0)
    return (1 / reward.shape[1] + gain / gain.sum(axis=1, keepdims=True)) / 2
