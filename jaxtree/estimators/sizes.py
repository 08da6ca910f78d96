"""Trees of many sizes: the best one of every penalty, and those that each method of making a tree small leads to."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from jaxtree.errors import InvalidInputError, InvalidTypeError, present
from jaxtree.estimators.common.conventions import key_of
from jaxtree.estimators.common.growing import GrowthTask, grow_tables
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.common.prunings import Dropout
from jaxtree.estimators.refining import refine
from jaxtree.estimators.trees.cart import DecisionTreeClassifier
from jaxtree.estimators.trees.derived import prune_to, tune_dropout
from jaxtree.estimators.trees.optimal import OptimalTreeClassifier, OptimalTreeRegressor
from jaxtree.estimators.trees.quinlan import C45Classifier
from jaxtree.export.models import best_of_search
from jaxtree.optimal.exact import MOST_EXACT_DEPTH
from jaxtree.prune.stopping import max_leaf_nodes
from jaxtree.prune.training_errors import collapse, pessimistic
from jaxtree.prune.weakest_links import cost_complexity, cost_complexity_path
from jaxtree.table.weights import check_sample_weight, rows_there
from jaxtree.tree import Tree
from jaxtree.tree.paths import survivors

SIZES = (2, 3, 4, 6, 8, 12, 16)
"""Numbers of leaves."""

CONFIDENCES = np.geomspace(1e-8, 0.5, 28)
"""Confidences of C4.5's pruning that are tried."""

MOST_PRICES = 400
"""Maximum number of penalties tried on a path."""

TUNING_SHARE = 0.25
"""The share of the rows on which rates of dropout are tuned."""


class LeafPenaltyPath(NamedTuple):
    """The best trees of a depth, from the largest to a single leaf.

    Attributes:
        leaf_penalties: The least penalty from which on each tree is the best one, ascending from 0.
        num_leaves: Their leaves.
        costs: The sums of the costs of their leaves, without penalties.
    """

    leaf_penalties: Float64[np.ndarray, " tree"]
    num_leaves: Int64[np.ndarray, " tree"]
    costs: Float64[np.ndarray, " tree"]


def leaf_penalty_path(
    estimator: OptimalTreeClassifier | OptimalTreeRegressor, X: Any, y: Any, sample_weight: Any = None
) -> LeafPenaltyPath:
    """Returns the penalties at which the best tree changes, and the trees' leaves and costs, by one search.

    Args:
        estimator: An estimator of optimal trees of up to three levels; its `leaf_penalty` and `max_leaf_nodes` do not
            matter.
        X: The table.
        y: Its target.
        sample_weight: The weight of every row; None is 1.

    Raises:
        InvalidInputError: The estimator has more levels, or an argument is not allowed.
        InvalidTypeError: It is none of optimal trees.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from jaxtree import OptimalTreeClassifier
        >>> path = leaf_penalty_path(OptimalTreeClassifier(max_depth=2), *load_breast_cancer(return_X_y=True))
        >>> path.leaf_penalties.tolist(), path.num_leaves.tolist(), path.costs.tolist()
        ([0.0, 5.0, 17.0, 168.0], [4, 3, 2, 1], [22.0, 27.0, 44.0, 212.0])
    """
    estimator = best_of_search(estimator)
    if not isinstance(estimator, OptimalTreeClassifier | OptimalTreeRegressor):
        raise InvalidTypeError(
            f"estimator must be an OptimalTreeClassifier or OptimalTreeRegressor, got {type(estimator).__name__}"
        )
    if estimator.max_depth > MOST_EXACT_DEPTH:
        raise InvalidInputError(
            f"the path of penalties is that of trees of up to {MOST_EXACT_DEPTH} levels, got "
            f"max_depth={estimator.max_depth}"
        )
    most = 2**estimator.max_depth
    settings = [{"max_leaf_nodes": number, "leaf_penalty": 0.0} for number in range(2, most + 1)]
    trees = fit_together(estimator, settings, X, y, sample_weight)
    root = trees[0].tree_
    cost = np.array([float(root.impurity[0] * root.weight[0]), *(tree.objective_ for tree in trees)])
    leaves = np.array([1, *(tree.get_n_leaves() for tree in trees)])
    places, penalties = [int(np.flatnonzero(cost == cost.min())[0])], [0.0]
    while (last := places[-1]) > 0:
        fewer = leaves[last] - leaves[:last]
        price = np.where(fewer > 0, (cost[:last] - cost[last]) / np.maximum(fewer, 1), np.inf)
        # Among equal prices the smallest tree wins, as in the search.
        places.append(int(price.argmin()))
        penalties.append(float(price.min()))
    return LeafPenaltyPath(np.array(penalties), leaves[places], cost[places])


def fit_together(
    estimator: Any, settings: Sequence[Mapping[str, Any]], X: Any, y: Any, sample_weight: Any = None
) -> list[Any]:
    """Returns the fits of an estimator of optimal trees with some penalties and numbers of leaves, by one search."""
    blank: Any = clone(estimator)
    first = blank.set_params(**settings[0])
    with placed_fit(first, X, num_fits=len(settings)):
        data = first.growth_task(X, y, sample_weight).data
        tasks = []
        for setting in settings:
            own = copy.copy(first).set_params(**setting)
            own.check_parameters()
            tasks.append((own, GrowthTask(data, own.make_recipe(data))))
        trees = grow_tables([task for _, task in tasks])
        return [own.finish_fit(tree, task) for (own, task), tree in zip(tasks, trees, strict=True)]


def trees_by_size(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] | None = None,
    sizes: Sequence[int] = SIZES,
    max_depth: int = 3,
    random_state: int = 0,
    sample_weight: Any = None,
) -> dict[str, list[Any]]:
    """Returns classification trees of many sizes, made small by several methods.

    The methods are "greedy" (the splits of CART with the most gain), "cost complexity" (CART, its weakest links cut),
    "C4.5" (its pessimistic pruning, without subtree raising), "dropout" (one draw of the greedy tree, with rates tuned
    on a quarter of the rows), "refined" (the greedy tree with all splits chosen again together) and "optimal" (no tree
    of the depth makes fewer errors). `jaxtree.plot.plot_accuracy_by_leaves` draws them.

    Args:
        X: The table.
        y: Its classes.
        methods: Some of the methods; None is all.
        sizes: Numbers of leaves, at least 2.
        max_depth: The depth of the optimal trees, up to 3; the others have any.
        random_state: Seed of what is drawn.
        sample_weight: The weight of every row; rows of weight 0 are left out.

    Returns:
        For every method a tree for each size: the one of most leaves that it makes within that number.

    Raises:
        InvalidInputError: There is no such method, a size is less than 2, or a weight is not allowed.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> made = trees_by_size(*load_iris(return_X_y=True), methods=["greedy", "optimal"], sizes=[2, 3], max_depth=2)
        >>> {method: [tree.get_n_leaves() for tree in trees] for method, trees in made.items()}
        {'greedy': [2, 3], 'optimal': [2, 3]}
    """
    known = {
        "greedy": lambda maker: maker.greedy,
        "cost complexity": _Maker.cut_at_weakest_links,
        "C4.5": _Maker.pruned_as_c45,
        "dropout": _Maker.drawn,
        "refined": _Maker.refined,
        "optimal": lambda maker: maker.optimal(max_depth),
    }
    methods = tuple(known) if methods is None else methods
    if not set(methods) <= set(known):
        raise InvalidInputError(f"methods must be some of {', '.join(known)}, got {', '.join(map(str, methods))}")
    if not len(sizes) or min(sizes) < 2:
        raise InvalidInputError(f"sizes must be numbers of leaves of at least 2, got {list(sizes)}")
    if not 1 <= max_depth <= MOST_EXACT_DEPTH:
        raise InvalidInputError(f"max_depth must be from 1 to {MOST_EXACT_DEPTH}, got {max_depth}")
    with placed_fit(DecisionTreeClassifier(), X, num_fits=len(methods)):
        weight = check_sample_weight(sample_weight, X.shape[0] if hasattr(X, "shape") else len(X))
        maker = _Maker(*rows_there(X, y, weight), list(sizes), random_state)
        return {method: known[method](maker) for method in methods}


class _Maker:
    """Makes trees of some sizes.

    Args:
        X: The table.
        y: Its classes.
        weight: The weight of every row; None is 1.
        sizes: Numbers of leaves.
        seed: Seed of what is drawn.
    """

    def __init__(self, X: Any, y: Any, weight: Float64[np.ndarray, " row"] | None, sizes: Sequence[int], seed: int):
        self._X, self._y, self._weight, self._sizes, self._seed = X, y, weight, sizes, seed
        self._cart = DecisionTreeClassifier(categorical_splits="one_vs_rest", ties="first", random_state=seed)
        self._whole = self._grown(X, y, weight)
        masks = max_leaf_nodes(self._whole.tree_, np.array(sizes))
        self.greedy = [prune_to(self._whole, mask) for mask in masks]

    def cut_at_weakest_links(self) -> list[Any]:
        """CART after cost-complexity pruning."""
        prices = np.unique(cost_complexity_path(self._whole.tree_).ccp_alphas)
        if prices.size > MOST_PRICES:
            prices = prices[np.unique(np.linspace(0, prices.size - 1, MOST_PRICES).astype(int))]
        return self._largest(self._whole, lambda tree: cost_complexity(tree, prices))

    def pruned_as_c45(self) -> list[Any]:
        """C4.5's tree after its pruning."""
        grown = C45Classifier(confidence=None, subtree_raising=False, random_state=self._seed)
        grown = grown.fit(self._X, self._y, self._weight)
        return self._largest(grown, lambda tree: pessimistic(tree, CONFIDENCES) | collapse(tree))

    def drawn(self) -> list[Any]:
        """One draw of dropout pruning."""
        y = np.asarray(self._y)
        strata = y if np.unique(y, return_counts=True)[1].min() > 1 else None
        weight = np.ones(len(y)) if self._weight is None else self._weight
        parts: Any = train_test_split(
            self._X, self._y, weight, test_size=TUNING_SHARE, random_state=self._seed, stratify=strata
        )
        X_train, X_held, y_train, y_held, weight_train, weight_held = parts
        grown = self._grown(X_train, y_train, weight_train)
        rates = tune_dropout(grown, X_held, y_held, loss="accuracy", sample_weight=weight_held)
        pruning, key = Dropout(present(rates.p), present(rates.q)), key_of(self._seed)
        return [prune_to(tree, pruning.collapsed(tree.tree_, key=key)) for tree in self.greedy]

    def refined(self) -> list[Any]:
        """The greedy trees with all splits chosen again."""
        return [refine(tree, self._X, self._y, self._weight) for tree in self.greedy]

    def optimal(self, max_depth: int) -> list[Any]:
        """The best trees of a depth."""
        settings = [{"max_leaf_nodes": int(size)} for size in self._sizes]
        trees = OptimalTreeClassifier(max_depth=max_depth, random_state=self._seed)
        return fit_together(trees, settings, self._X, self._y, self._weight)

    def _grown(self, X: Any, y: Any, weight: Any) -> DecisionTreeClassifier:
        """CART, fully grown."""
        blank: Any = clone(self._cart)
        return blank.fit(X, y, weight)

    def _largest(self, grown: Any, prune: Callable[[Tree], Any]) -> list[Any]:
        """The largest of some pruned trees for every size."""
        masks = np.asarray(prune(grown.tree_))
        number = _leaves_under(grown.tree_, masks)
        fits = [np.where(number <= size, number, 0).argmax() for size in self._sizes]
        # A tree whose first split has more branches than leaves are allowed is a leaf.
        everything = np.ones(grown.tree_.node_count, bool)
        chosen = zip(fits, self._sizes, strict=True)
        return [prune_to(grown, masks[at] if number[at] <= size else everything) for at, size in chosen]


def _leaves_under(tree: Tree, masks: Bool[np.ndarray, "setting node"]) -> Int64[np.ndarray, " setting"]:
    """The number of leaves of every pruned tree."""
    return (survivors(tree, masks) & (masks | np.asarray(tree.is_leaf))).sum(axis=1)
