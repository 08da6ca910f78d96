"""The best tree of a small depth, by a search of all of them."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float, Int

from jaxtree import forks
from jaxtree.criteria import CRITERIA
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.exchange import Exchange
from jaxtree.dataset.magnitude import Magnitude, restore_weights, weight_exponent_of
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InvalidInputError, instance_of, present
from jaxtree.estimators.common.conventions import Role, Words, progress_of, whole
from jaxtree.estimators.common.features import FeatureOptions
from jaxtree.estimators.common.growing import GrowthTask, Recipe
from jaxtree.estimators.common.ordered_categories import order_for_trees
from jaxtree.estimators.common.parameters import AUTO, BALANCED, CLASS_CRITERIA, RegressionParameters
from jaxtree.estimators.common.prunings import AT_LEAST_0, PART, Pruning
from jaxtree.estimators.trees.base import BaseTree, BaseTreeClassifier, BaseTreeRegressor
from jaxtree.growth.inputs.bundles import Limits, Missing, Rules
from jaxtree.optimal.costs import CostedTarget, cost_of_classes, cost_of_numbers
from jaxtree.optimal.exact import MOST_EXACT_DEPTH
from jaxtree.optimal.nodes import CodedTable, node_table
from jaxtree.optimal.parts import parts_of
from jaxtree.optimal.search import BestTree, SearchLimits, find_trees
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.nodes import cheapest_class

MOST_DEPTH = 5
"""The largest depth of a tree that is searched."""


class _TreeSearch:
    """Finds the tree of a dataset, and keeps what it found.

    Args:
        owner: The estimator.
        limits: The limits of the trees that are searched.
        least_rows: The least number of rows of a leaf.
    """

    found: BestTree

    def __init__(self, owner: Any, limits: SearchLimits, least_rows: int):
        self._owner, self.limits, self._least_rows = owner, limits, least_rows

    def kind(self, task: GrowthTask) -> Hashable:
        """Returns what tasks have in common whose trees differ by penalties and numbers of leaves alone."""
        common = self.limits._replace(leaf_penalty=0.0, max_leaf_nodes=None)
        rows = tuple(map(id, (task.data.codes, task.data.target, task.data.weight)))
        return rows, common, self._least_rows, self._owner.criterion, id(getattr(self._owner, "cost_matrix", None))

    def find(self, tasks: Sequence[GrowthTask]) -> list[Tree]:
        """Returns the trees of tasks of one kind, their thresholds in codes."""
        data, recipe = tasks[0]
        exponent = weight_exponent_of(data.weight)
        if exponent:
            data = data.with_weight(np.ldexp(data.weight, -exponent))
        magnitude = Magnitude.of(data.target, recipe.rules.objective)
        labels, least_rows, parts_per_row = magnitude.divide(data.target), self._least_rows, 1
        if data.outputs.has_shares and not data.fields:
            parts = parts_of(data.target, data.weight)
            data = data.with_weight(parts.weight)._replace(codes=data.codes[:, parts.row])
            labels, least_rows, parts_per_row = parts.label[None], least_rows * parts.per_row, parts.per_row
        target = self._owner.costed_target(data, labels, least_rows)
        table = CodedTable(data.codes, data.schema.num_values, data.schema.is_categorical)
        searches: list[Any] = [own.recipe.search for own in tasks]
        penalties = [float(np.ldexp(search.limits.leaf_penalty, -exponent)) for search in searches]
        with _progress(self._owner.verbose, exponent) as report:
            limits = zip(searches, penalties, strict=True)
            limits = [search.limits._replace(report=report, leaf_penalty=own) for search, own in limits]
            found = find_trees(table, target, limits)
        for search, best in zip(searches, found, strict=True):
            objective, bound = np.ldexp([best.objective, best.bound], exponent).tolist()
            search.found = best._replace(objective=objective, bound=bound)
        learns = self.limits.learns_missing
        trees = (node_table(best.tree, table, target, learns_missing=learns) for best in found)
        trees = (dataclasses.replace(tree, num_rows=tree.num_rows // parts_per_row) for tree in trees)
        return [restore_weights(magnitude.restore(tree), exponent) for tree in trees]


@contextlib.contextmanager
def _progress(verbose: int, exponent: int) -> Iterator[Callable[[float, float], None] | None]:
    """Yields what to call with the objective in hand and its lower bound, which a bar shows; None for no bar.

    Both are divided by two to the exponent.
    """
    with progress_of(verbose, 1, "searching", "trees") as add:

        def report(*divided: float) -> None:
            found, bound = np.ldexp(divided, exponent)
            present(add)(0, f"objective {found:.6g}, bound {bound:.6g}")

        yield None if add is None else report


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class OptimalSearch(BaseTree):
    """The base of all estimators of optimal trees.

    Args:
        max_depth: The largest depth of a leaf, from 1 to 5.
        max_leaf_nodes: The most leaves, for a `max_depth` of up to 3.
        min_samples_leaf: The least number of rows of a leaf, or their share of all rows of some weight.
        leaf_penalty: The least that a leaf must save, in units of the cost: errors or weight, of numbers the summed
            squared error or deviance.
        max_thresholds: The most thresholds of a column that are compared at once, or "auto": as many as take
            seconds, fewer of them where there are many classes or targets.
        refine_thresholds: Whether thresholds around the chosen ones are tried.
        missing: "learn" lets every split choose the branch of missing values, "branch" makes missing a value of its
            own, larger than every number.
        time_limit: Seconds after which the search of four or five levels ends with the tree that it has; None for
            no limit.
        verbose: 1 shows the objective and its bound as they meet, n in a line every n times.
    """

    max_depth: Annotated[int, whole(1, MOST_DEPTH), Role.FIT] = 3
    max_leaf_nodes: Annotated[int | None, whole(2), None, Role.PATH] = None
    min_samples_leaf: Annotated[int | float, whole(1), PART, Role.FIT] = 1
    leaf_penalty: Annotated[float, AT_LEAST_0, Role.PATH] = 0.0
    max_thresholds: Annotated[int | str, whole(1, 65_535), AUTO, Role.FIT] = "auto"
    refine_thresholds: Annotated[bool, "boolean", Role.FIT] = True
    missing: Annotated[str, Words({"learn", "branch"}), Role.FIT] = "learn"
    time_limit: Annotated[float | None, AT_LEAST_0, None, Role.FIT] = 60.0
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0

    def growth_limits(self, data: Dataset) -> Limits:
        """Returns when nodes are not split."""
        return Limits(max_depth=self.max_depth, min_samples_leaf=self._least_rows(data.num_rows))

    def make_recipe(self, data: Dataset) -> Recipe:
        """Returns how to find the tree of some rows."""
        forks.check_is_whole("fit")
        limits = SearchLimits(
            self.max_depth,
            self.max_leaf_nodes,
            float(self.leaf_penalty),
            None if isinstance(self.max_thresholds, str) else int(self.max_thresholds),
            refine_thresholds=self.refine_thresholds,
            learns_missing=self.missing == "learn",
            time_limit=math.inf if self.time_limit is None else float(self.time_limit),
        )
        if self.max_depth > MOST_EXACT_DEPTH and self.max_leaf_nodes is not None:
            raise InvalidInputError(
                f"max_leaf_nodes is for max_depth up to {MOST_EXACT_DEPTH}, got max_depth={self.max_depth}: a "
                "leaf_penalty limits the leaves of deeper trees"
            )
        rules = Rules(self.make_objective(data.outputs), Missing[self.missing.upper()])
        search = _TreeSearch(self, limits, self._least_rows(data.num_rows))
        features, ordered = order_for_trees(data, FeatureOptions(SplitKind.ONE_VS_REST))
        return Recipe(rules, self.growth_limits(data), features, search=search, ordered=ordered)

    def finish_fit(self, grown: Tree, task: GrowthTask) -> Any:
        """Prunes the tree that was found, and makes it ready for prediction."""
        search = instance_of(_TreeSearch, task.recipe.search)
        self.objective_ = search.found.objective
        self.optimality_ = search.found.optimality
        return super().finish_fit(grown, task)

    def list_prunings(self) -> list[Pruning]:
        """Returns the pruning: the search has minded the number of leaves."""
        return [] if self.pruning is None else [self.pruning]

    def needs_all_rows(self) -> str | None:
        """Returns the class: one process must have all rows."""
        return type(self).__name__

    def needs_classes(self) -> str | None:
        """Returns the parameter for which every row must have one class; None if there is none."""
        return super().needs_all_rows()

    def costed_target(self, data: Dataset, target: Any, least_rows: int) -> CostedTarget:
        """Returns the cost of leaves of some rows, with their target at a size whose squares are numbers."""
        raise NotImplementedError

    def _least_rows(self, num_rows: int) -> int:
        least = self.min_samples_leaf
        return int(least) if isinstance(least, Integral) else math.ceil(least * num_rows)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class OptimalTreeClassifier(OptimalSearch, BaseTreeClassifier):
    r"""The best classification tree of a small depth: no other tree makes fewer errors.

    Among all trees whose leaves are at most `max_depth` splits deep, the tree minimises

    $$\sum_{\text{leaves}} (\text{cost of the leaf} + \text{leaf_penalty}),$$

    where a leaf costs the weight of the rows that it classifies wrongly, what `cost_matrix` says, or its weight times
    Gini impurity or entropy. Growth decides on one split at a time, and may not find a pair of columns that help only
    together; this search compares all pairs of splits by their sums over rows (see `jaxtree.optimal.gram`), below all
    first splits. So a tree of three levels that people can read is as good as one can be. With four or five levels
    there are too many to compare them all in general: then splits are followed in the order of what two levels below
    them reach, with bounds, until the tree is proven to be the best, `time_limit` is over or the user interrupts.

    Among equally good trees that of the fewest leaves is taken, then that whose first split has the first column, then
    the lowest value. Numeric, ordered and boolean columns are split by thresholds, categorical ones by one category
    against the rest. Missing values go to the branch where they cost least.

    A column of many values has too many thresholds to compare all with all others. Then `max_thresholds` of them are
    compared, at quantiles, and with `refine_thresholds` again those around the chosen ones, as long as the tree gets
    better. Where both have their defaults and rows have a loss (criterion "misclassification", `min_samples_leaf=1`),
    all distinct thresholds of tables of up to some thousand rows are searched thereafter, by bounds from the thresholds
    next to each (Brita et al., AAAI 2025).

    Args:
        criterion: "misclassification", "gini", "entropy" or "log_loss".
        cost_matrix: The cost of predicting a class (columns) where another (rows) is true, in the order of
            `classes_`; for "misclassification". None is 1 for every error.
        class_weight: Factors of the classes' weights: a dict, "balanced", or None.

    Attributes:
        tree_: The fitted `jaxtree.Tree`.
        optimality_: "proven" if no tree of the limits is better, "proven on bins" if some thresholds were left out;
            where the search of four or five levels ended early, the share of the objective that another tree may save.
        objective_: The sum of the costs and penalties of the leaves before pruning.
        schema_: Columns and features in words.
        classes_: The classes in ascending order.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> X = [[a, b, noise] for a in (0, 1) for b in (0, 1) for noise in (0, 1, 2)]
        >>> y = [int(a != b) for a, b, _ in X]
        >>> best = OptimalTreeClassifier(max_depth=2).fit(X, y)
        >>> best.score(X, y), best.get_n_leaves(), best.optimality_
        (1.0, 4, 'proven')
    """

    criterion: Annotated[str, CLASS_CRITERIA, Role.FIT] = "misclassification"
    cost_matrix: Annotated[Any, "array-like", None, Role.FIT] = None
    class_weight: Annotated[Any, dict, BALANCED, None, Role.FIT] = None

    def _check_sample(self, sample: Sample, exchange: Exchange) -> None:
        super()._check_sample(sample, exchange)
        if sample.outputs.number > 1:
            raise InvalidInputError(f"y must have one column, got {sample.outputs.number}")
        self._loss(sample.outputs.num_classes[0])

    def costed_target(self, data: Dataset, target: Any, least_rows: int) -> CostedTarget:
        """Returns the cost of leaves."""
        names = {function: name for name, function in CRITERIA.items() if name != "log_loss"}
        name, (number,) = names[CRITERIA[self.criterion]], data.num_classes
        return cost_of_classes(target[0], number, data.weight, name, self._loss(number), least_rows)

    def node_labels(self, tree: Tree) -> Int[np.ndarray, "output node"] | None:
        """Returns the class that every node predicts: with a cost matrix that of the least cost."""
        loss = self._loss(int(self.n_classes_))
        if loss is None:
            return super().node_labels(tree)
        return cheapest_class(tree, loss)

    def _loss(self, size: int) -> Float[np.ndarray, "label prediction"] | None:
        """Returns the cost matrix of so many classes; raises InvalidInputError if it is none."""
        if self.cost_matrix is None:
            return None
        try:
            loss = np.asarray(self.cost_matrix, np.float64)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"cost_matrix must be {size} rows of {size} numbers, got {self.cost_matrix}"
            ) from None
        if self.criterion != "misclassification":
            raise InvalidInputError(f"cost_matrix is for criterion='misclassification', got {self.criterion!r}")
        if loss.shape != (size, size) or not np.all(np.isfinite(loss) & (loss >= 0)):
            raise InvalidInputError(
                f"cost_matrix must have a row and a column for each of {size} classes, of numbers of at least 0, got "
                f"shape {loss.shape} with least value {loss.min(initial=np.inf)}"
            )
        return loss

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: one target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class OptimalTreeRegressor(RegressionParameters, OptimalSearch, BaseTreeRegressor):
    r"""The best regression tree of a small depth: no other tree has a smaller squared error.

    Among all trees whose leaves are at most `max_depth` splits deep, the tree minimises the sum over leaves of their
    weight times impurity, and of `leaf_penalty`. See `OptimalTreeClassifier` for the search, ties and thresholds.

    Attributes:
        tree_: The fitted `jaxtree.Tree`.
        optimality_: "proven" if no tree of the limits is better, "proven on bins" if some thresholds were left out;
            where the search of four or five levels ended early, the share of the objective that another tree may save.
        objective_: The sum of the costs and penalties of the leaves before pruning.
        schema_: Columns and features in words.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> round(OptimalTreeRegressor(max_depth=2, max_thresholds=8).fit(X, y).score(X, y), 2)
        0.44
    """

    def costed_target(self, data: Dataset, target: Any, least_rows: int) -> CostedTarget:
        """Returns the cost of leaves."""
        return cost_of_numbers(target, data.weight, self.criterion, least_rows)
