"""The tree that greed finds, one split after the other, from which searches of many levels begin at least."""

import jax
import numpy as np
from jaxtyping import Int

from jaxtree.growth.inputs.bundles import Data, Features, Limits, Missing, Rules, Sizes
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.growth.loop.grow import grow_until_it_fits
from jaxtree.growth.native import engine_of
from jaxtree.optimal.costs import CostedTarget
from jaxtree.optimal.nodes import CodedTable, SplitNode, objective_of, split_node_at, split_nodes
from jaxtree.tree import SplitKind


def greedy_tree(
    table: CodedTable, target: CostedTarget, depth: int, *, platform: str, learns_missing: bool = True
) -> SplitNode | None:
    """Returns CART's tree: by Gini impurity for classes, by the squared error for numbers and for regrets.

    Args:
        table: The rows.
        target: Their target; a leaf has its least number of rows.
        depth: The largest depth of a leaf.
        platform: The platform that it is grown on.
        learns_missing: Whether missing values may go to either branch.
    """
    kinds = np.where(table.is_categorical, SplitKind.ONE_VS_REST, SplitKind.THRESHOLD).astype(np.int32)
    num_values = np.asarray(table.num_values, np.int32)
    features = Features(kinds, num_values + 1, num_values)
    weight = target.weight
    cost, missing = target.cost, Missing.LEARN if learns_missing else Missing.BRANCH
    of_classes = cost.num_targets == 0  # the regrets of actions are numbers of a row
    objective = Classes(cost.num_labels) if of_classes else Numbers(num_outputs=cost.num_targets)
    rules = Rules(objective, missing, counts_rows=True)
    labels = target.values.label if of_classes else target.weighted / weight
    sizes = Sizes(int(num_values.max(initial=1)) + 1, 2 << depth)
    with jax.enable_x64(True):
        data = Data(table.codes, labels, None if np.all(weight == 1) else weight)
        limits = Limits(max_depth=depth, min_samples_leaf=int(cost.least_rows))
        engine = engine_of(rules, platform, on_host=True)
        tree = grow_until_it_fits(data, features, limits, rules, sizes, engine=engine)
    return split_node_at(tree, 0)


def without_dear_splits(
    tree: SplitNode | None,
    table: CodedTable,
    target: CostedTarget,
    penalty: float,
    rows: Int[np.ndarray, " node_row"] | None = None,
) -> SplitNode | None:
    """Returns a tree without the splits that save no more than the penalties of their leaves."""
    rows = np.arange(table.num_rows) if rows is None else rows
    if tree is None:
        return None
    second = tree.takes_second(table, rows)
    sides = [
        without_dear_splits(side, table, target, penalty, own)
        for side, own in ((tree.first, rows[~second]), (tree.second, rows[second]))
    ]
    smaller = tree._replace(first=sides[0], second=sides[1])
    saved = target.risk(rows) - objective_of(smaller, table, target, rows)
    return smaller if saved > penalty * len(split_nodes(smaller)) else None
