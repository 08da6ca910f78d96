"""Growth to a number of leaves: after every level, the splits that best-first growth will not make leave the table.

Best-first growth makes, of the splits that may be made, the one that saves most next, of equal ones that of the first
node, until the tree has its leaves. A split does not depend on when it is made, so those of a level are found together.
Then the tree is grown best-first from all splits found so far, which are those down to this level.

A split that this tree does not reach is never made. Splits that are found later lie further below: made or not, they
change neither which of the known splits may be made nor their order, and they only take leaves that others could have
had. So its node becomes a leaf at once, and the nodes below it leave the table. A level has no more nodes than its tree
may have leaves, and after the last one, when all splits are known, those that are left are the ones of best-first
growth.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from jaxtree.growth.device.state import Nodes, Row, State, blank_nodes
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import GrowthConstants

SPLIT_FIELDS = (
    "feature", "code", "next_code", "split_kind", "missing_code", "missing_branch", "first_child", "num_children",
)  # fmt: skip
"""The fields of a node that say nothing of a leaf."""


def drop_splits(problem: GrowthConstants, state: State, *, plan: LoopPlan) -> State:
    """Drops the splits that growth does not reach, of the level whose splits are recorded and of those above."""
    nodes, tree, limits = state.nodes, state.nodes.columns, problem.limits
    weight = plan.rules.objective.weight(nodes.sums.T).astype(jnp.float64)
    made = best_splits_first(tree, nodes.gain * (weight * problem.units.weight), limits["max_leaf_nodes"])
    number = jnp.arange(plan.capacity, dtype=jnp.int32)
    stays = (number < nodes.num_nodes) & ((tree.depth == 0) | made[tree.parent])
    place = jnp.cumsum(stays, dtype=jnp.int32) - 1
    old = jnp.zeros_like(number).at[jnp.where(stays, place, plan.capacity)].set(number, mode="drop")
    nodes = _moved(problem, nodes, made, place, old, plan=plan)
    # No entry leaves a leaf, whichever it is.
    leaf = jnp.min(jnp.where(nodes.columns.num_children == 0, number, plan.capacity - 1))
    node = state.frontier.node
    return state._replace(
        nodes=nodes,
        first_node=jnp.sum(stays & (number < state.first_node), dtype=jnp.int32),
        frontier=state.frontier._replace(node=jnp.where(stays[node], place[node], leaf)),
    )


def best_splits_first(
    tree: Row, saved: Float[Array, " node"], max_leaf_nodes: Int32[Array, " root"]
) -> Bool[Array, " node"]:
    """The splits that best-first growth makes of those that are known.

    Args:
        tree: Trees whose last level has splits, but no children yet.
        saved: The gain of every split.
        max_leaf_nodes: The most leaves of every tree.
    """
    is_split, root, new_leaves = tree.num_children > 0, tree.root, tree.num_children - 1
    number = jnp.arange(root.size, dtype=jnp.int32)
    one = jnp.ones_like(max_leaf_nodes)
    is_over = one.at[root].add(jnp.where(is_split, new_leaves, 0)) > max_leaf_nodes

    def split_best(state):
        waits, made, num_leaves = state
        most = jnp.full(one.shape, -jnp.inf).at[root].max(jnp.where(waits, saved, -jnp.inf))
        is_best = waits & (saved == most[root])
        node = jnp.full_like(one, root.size).at[root].min(jnp.where(is_best, number, root.size))
        num_leaves = num_leaves + new_leaves.at[node].get(mode="fill", fill_value=0)
        fits = num_leaves <= max_leaf_nodes
        comes_up = is_split & (tree.depth > 0) & (tree.parent == node[root])
        waits = ((waits & (number != node[root])) | comes_up) & fits[root]
        return waits, made.at[node].set(fits, mode="drop"), num_leaves

    # A tree whose splits all fit is left as it is.
    start = is_split & (tree.depth == 0) & is_over[root], is_split & ~is_over[root], one
    return lax.while_loop(lambda state: jnp.any(state[0]), split_best, start)[1]


def _moved(
    problem: GrowthConstants,
    nodes: Nodes,
    made: Bool[Array, " node"],
    place: Int32[Array, " node"],
    old: Int32[Array, " node"],
    *,
    plan: LoopPlan,
) -> Nodes:
    """The table with the nodes that stay side by side.

    Args:
        problem: The arrays that stay the same.
        nodes: The nodes so far.
        made: The splits that stay.
        place: The new number of every node that stays.
        old: The number that every place's node had.
        plan: Static sizes.
    """
    num_nodes = place[-1] + 1
    is_taken = jnp.arange(plan.capacity) < num_nodes

    def move(values, blank=0, is_there=is_taken):
        # A field that the rules do not need has no places.
        if not values.size:
            return values
        return jnp.where(is_there.reshape(-1, *[1] * (values.ndim - 1)), values[old], blank)

    is_split = is_taken & made[old]
    row = Row(*map(move, nodes.columns))
    of_splits = {name: jnp.where(is_split, getattr(row, name), 0) for name in SPLIT_FIELDS}
    of_splits["first_child"] = jnp.where(is_split, place[row.first_child], 0)
    row = row._replace(**of_splits, parent=jnp.where(is_taken, place[row.parent], 0))
    blank = blank_nodes(problem, plan, nodes.counted.dtype, jnp.zeros(0, jnp.uint32))
    moved = {
        name: move(getattr(nodes, name), getattr(blank, name))
        for name in ("counted", "extremes", "lower", "upper", "seed", "sets")
    }
    of_gain = {"gain": move(nodes.gain, is_there=is_split), "subset": move(nodes.subset, is_there=is_split)}
    return nodes._replace(whole=jnp.stack(row, axis=1), num_nodes=num_nodes, **moved, **of_gain)
