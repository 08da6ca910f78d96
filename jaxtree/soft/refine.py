"""Hardened oblique trees made better: every plane chosen again while the rest of the tree stays.

Given what is below its branches, a plane is a question of two classes: every row of the node costs something on either
side, and belongs where it costs less (Carreira-Perpinan and Tavallali, *Alternating optimization of decision trees*,
NeurIPS 2018). Its answers are logistic fits of these rows, weighted by what the sides differ by, of all nodes of a
level at once. The best offset of a direction is found exactly, that of the present plane, too. A plane is replaced
where its rows then cost less, and a round of all planes is kept if the tree costs less.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Float64, Int, Int64, PRNGKeyArray

from jaxtree.compilation import compiled
from jaxtree.optimal.costs import CostedTarget
from jaxtree.optimal.levels import LeafLosses
from jaxtree.soft.oblique_tree import ObliqueTree, above_planes
from jaxtree.soft.walk import walk_rows
from jaxtree.tree.paths import binary_links

MOST_ROUNDS = 30
"""Rounds of choosing all planes again, at most."""

PENALTIES = (1e-3, 1e-2, 1e-1)
"""Penalties of the squared weights of a logistic fit, beside the mean loss of a row: a fit for each."""

STEPS = 150
"""Steps of a logistic fit."""

MOST_FITTED = 4096
"""Rows of a node that a logistic fit sees; of more rows evenly many. Offsets are found among all."""

DRAWN_SHARE = 0.3
"""The share of the planes that a further start draws at random."""

Rows = Float[np.ndarray, "row column"]
NodeOfRow = Int64[np.ndarray, " row"]


class Target(NamedTuple):
    """The objective of a refinement.

    Attributes:
        costed: The target with costs by losses of classes or squared errors.
        columns: One-hot classes, or numbers: what leaves hold the means of.
        weight: The weight of every row.
    """

    costed: CostedTarget
    columns: Float64[np.ndarray, "row output"]
    weight: Float64[np.ndarray, " row"]


class PlaneNodes(NamedTuple):
    """The nodes of a tree of planes, see `jaxtree.soft.oblique_tree.ObliqueTree`."""

    normal: Float64[np.ndarray, "node column"]
    offset: Float64[np.ndarray, " node"]
    first_child: Int[np.ndarray, " node"]

    @property
    def is_leaf(self) -> Bool[np.ndarray, " node"]:
        """Which nodes are leaves."""
        return self.first_child == 0

    def step(self, x: Rows, node: NodeOfRow) -> NodeOfRow:
        """Returns the children that rows come to from nodes; of a leaf itself."""
        below = self.first_child[node] + above_planes(self.normal, self.offset, x, node)
        return np.where(self.is_leaf[node], node, below)

    def ends(self, x: Rows, node: NodeOfRow) -> NodeOfRow:
        """Returns the leaves where rows come from nodes."""
        while not self.is_leaf[node].all():
            node = self.step(x, node)
        return node


def refined_planes(
    tree: ObliqueTree, x: Rows, target: Target, *, restarts: int = 0, key: PRNGKeyArray | None = None
) -> ObliqueTree:
    """Returns a tree of no more leaves and no greater depth, whose leaves hold the means of the rows.

    The costs of its leaves are no larger than those of the tree's.

    Args:
        tree: The tree.
        x: The rows, of `tree.inputs.transform`.
        target: Their target.
        restarts: Further starts, from the tree with some of its planes drawn at random.
        key: The key of further starts. Each has its own, so that more of them find nothing worse.
    """
    given = PlaneNodes(tree.normal, tree.offset, tree.first_child)
    best, least = _refined_start(given, x, target.costed)
    keys = [] if key is None else [jax.random.fold_in(key, number) for number in range(restarts)]
    for own in keys:
        found, cost = _refined_start(_redrawn(given, x, own), x, target.costed)
        if cost < least:
            best, least = found, cost
    return _with_rows(tree, best, x, target)


def _refined_start(nodes: PlaneNodes, x: Rows, target: CostedTarget) -> tuple[PlaneNodes, int]:
    """A tree refined until no round is better, with its cost in units."""
    cost = _cost_of(nodes, x, target)
    for _ in range(MOST_ROUNDS):
        found = _chosen_again(nodes, x, target)
        reached = _cost_of(found, x, target)
        if reached >= cost:
            break
        nodes, cost = found, reached
    return nodes, cost


def _cost_of(nodes: PlaneNodes, x: Rows, target: CostedTarget) -> int:
    row = np.arange(len(x))
    leaf = nodes.ends(x, np.zeros(len(x), np.int64))
    return int(LeafLosses(target, row, leaf, nodes.offset.size)(row, leaf).sum())


def _chosen_again(nodes: PlaneNodes, x: Rows, target: CostedTarget) -> PlaneNodes:
    """The tree with every plane chosen again, the lower ones first, for the predictions that leaves have."""
    path = [np.zeros(len(x), np.int64)]
    while not nodes.is_leaf[path[-1]].all():
        path.append(nodes.step(x, path[-1]))
    losses = LeafLosses(target, np.arange(len(x)), path[-1], nodes.offset.size)
    for at in path[-2::-1]:
        nodes = _level_chosen(nodes, at, x, losses)
    return nodes


def _level_chosen(nodes: PlaneNodes, at: NodeOfRow, x: Rows, losses: LeafLosses) -> PlaneNodes:
    """The tree with the planes of a level chosen again; `at` is the node of every row there, or its leaf above it."""
    row = np.flatnonzero(~nodes.is_leaf[at])
    first = nodes.first_child[at[row]].astype(np.int64)
    below, above = (losses(row, nodes.ends(x[row], first + side)) for side in (0, 1))
    # Where a row goes does not matter where it costs the same.
    matters = below != above
    row, saved = row[matters], (below - above)[matters]
    if row.size == 0:
        return nodes
    asked, slot = np.unique(at[row], return_inverse=True)
    members = np.split(np.argsort(slot, kind="stable"), np.cumsum(np.bincount(slot))[:-1])
    fits = _logistic_fits(x, [row[own] for own in members], [saved[own] for own in members])
    normal, offset = nodes.normal.copy(), nodes.offset.copy()
    for node, own, fitted in zip(asked.tolist(), members, fits, strict=True):
        rows = x[row[own]].astype(np.float64)
        most = int(saved[own][rows @ normal[node] + offset[node] > 0].sum())
        for candidate in (nodes.normal[node], *fitted):
            cut, total = _best_offset(rows @ candidate, saved[own])
            if total > most:
                normal[node], offset[node], most = candidate, cut, total
    return nodes._replace(normal=normal, offset=offset)


def _best_offset(height: Float64[np.ndarray, " row"], saved: Int64[np.ndarray, " row"]) -> tuple[float, float]:
    """The offset by which the rows above 0 save most, and what they save; none saves -inf if no two rows differ."""
    order = np.argsort(height, kind="stable")
    height, cut_off = height[order], np.cumsum(saved[order])
    gap = np.diff(height)
    # Heights closer than their roundings are not told apart.
    is_gap = gap > 1e-9 * np.abs(height).max(initial=0)
    if not is_gap.any():
        return 0.0, -np.inf
    totals = np.where(is_gap, cut_off[-1] - cut_off[:-1], -np.inf)
    best = int(totals.argmax())
    return -float(height[best] + gap[best] / 2), float(totals[best])


def _logistic_fits(
    x: Rows, rows: list[Int64[np.ndarray, " _own"]], saved: list[Int64[np.ndarray, " _own"]]
) -> Float64[np.ndarray, "slot penalty column"]:
    """The normals of logistic fits of the rows of every node, padded to few sizes with rows of weight 0."""
    most = min(max(own.size for own in rows), MOST_FITTED)
    capacity = next(size for size in (64, 256, 1024, MOST_FITTED) if size >= most)
    shape = 1 << (len(rows) - 1).bit_length(), capacity
    member, sign, weight = np.zeros(shape, np.int32), np.ones(shape, np.float32), np.zeros(shape, np.float32)
    for slot, (own, gain) in enumerate(zip(rows, saved, strict=True)):
        taken = np.arange(own.size) if own.size <= capacity else np.linspace(0, own.size - 1, capacity).astype(int)
        size, difference = taken.size, np.abs(gain[taken]).astype(np.float64)
        member[slot, :size], sign[slot, :size] = own[taken], np.sign(gain[taken])
        weight[slot, :size] = difference / difference.sum()
    normals = _fitted_planes(x[member], sign, weight, jnp.asarray(PENALTIES, jnp.float32))
    return np.asarray(normals, np.float64)[: len(rows)]


@compiled()
def _fitted_planes(
    x: Float32[Array, "slot place column"],
    sign: Float32[Array, "slot place"],
    weight: Float32[Array, "slot place"],
    penalty: Float32[Array, " penalty"],
) -> Float32[Array, "slot penalty column"]:
    of_penalties = jax.vmap(_fitted_plane, in_axes=(None, None, None, 0))
    return jax.vmap(of_penalties, in_axes=(0, 0, 0, None))(x, sign, weight, penalty)


def _fitted_plane(
    x: Float32[Array, "place column"],
    sign: Float32[Array, " place"],
    weight: Float32[Array, " place"],
    penalty: Float32[Array, ""],
) -> Float32[Array, " column"]:
    """The normal of a logistic fit with a penalty, by accelerated gradients (Nesterov, 1983)."""
    x = jnp.concatenate([x, jnp.ones((len(x), 1), x.dtype)], axis=1)
    penalties = jnp.append(jnp.full(x.shape[1] - 1, penalty), 0)  # none of the offset
    # The curvature is at most a quarter of the largest moment, which powers approach from below.
    direction = jnp.ones(x.shape[1])
    for _ in range(8):
        direction = x.T @ (weight * (x @ direction))
        direction = direction / jnp.maximum(jnp.linalg.norm(direction), 1e-12)
    largest = jnp.linalg.norm(x.T @ (weight * (x @ direction)))
    rate = 1 / (0.3 * largest + penalty)

    def step(number, state):
        plane, before = state
        ahead = plane + number / (number + 3) * (plane - before)
        pull = weight * sign * jax.nn.sigmoid(-sign * (x @ ahead))
        return ahead + rate * (x.T @ pull - penalties * ahead), plane

    zero = jnp.zeros(x.shape[1])
    return jax.lax.fori_loop(0, STEPS, step, (zero, zero))[0][:-1]


def _redrawn(nodes: PlaneNodes, x: Rows, key: PRNGKeyArray) -> PlaneNodes:
    """The tree with some of its planes drawn at random: each goes through a row."""
    which_key, normal_key, row_key = jax.random.split(key, 3)
    which = np.asarray(jax.random.bernoulli(which_key, DRAWN_SHARE, nodes.offset.shape)) & ~nodes.is_leaf
    drawn = np.asarray(jax.random.normal(normal_key, nodes.normal.shape), np.float64)
    through = x[np.asarray(jax.random.randint(row_key, nodes.offset.shape, 0, len(x)))]
    offset = np.where(which, -(drawn * through).sum(axis=1), nodes.offset)
    return nodes._replace(normal=np.where(which[:, None], drawn, nodes.normal), offset=offset)


def _with_rows(tree: ObliqueTree, nodes: PlaneNodes, x: Rows, target: Target) -> ObliqueTree:
    """The tree of the nodes that rows come to, with the means of their rows."""
    end = walk_rows(lambda row, node: above_planes(nodes.normal, nodes.offset, x[row], node), nodes.first_child, len(x))
    kept = _nodes_with_rows(nodes, np.bincount(end, minlength=nodes.offset.size))
    is_leaf = nodes.is_leaf[kept]
    links = binary_links(is_leaf)
    place = np.zeros(nodes.offset.size, np.int64)
    place[kept] = np.arange(kept.size)
    weight = target.weight[:, None]
    sums = np.zeros((kept.size, 2 + target.columns.shape[1]))
    np.add.at(sums, place[end], np.concatenate([np.ones_like(weight), weight, weight * target.columns], axis=1))
    for node in range(kept.size - 1, 0, -1):
        sums[links.parent[node]] += sums[node]
    return ObliqueTree(
        normal=np.where(is_leaf[:, None], 0, nodes.normal[kept]),
        offset=np.where(is_leaf, 0, nodes.offset[kept]),
        **links._asdict(),
        num_rows=sums[:, 0].astype(np.int64),
        weight=sums[:, 1],
        value=sums[:, 2:] / sums[:, 1:2],
        inputs=tree.inputs,
        num_classes=tree.num_classes,
    )


def _nodes_with_rows(nodes: PlaneNodes, ending: Int[np.ndarray, " node"]) -> Int64[np.ndarray, " kept"]:
    """The nodes that divide rows, and leaves with rows, breadth-first; a node with one empty branch gives way."""
    arriving = ending.copy()
    for node in np.flatnonzero(~nodes.is_leaf)[::-1].tolist():
        first = int(nodes.first_child[node])
        arriving[node] = arriving[first : first + 2].sum()

    def standing(node: int) -> int:
        while not nodes.is_leaf[node]:
            first = int(nodes.first_child[node])
            if arriving[first : first + 2].all():
                break
            node = first + int(arriving[first] == 0)
        return node

    kept = [standing(0)]
    for node in kept:  # which grows meanwhile
        if not nodes.is_leaf[node]:
            first = int(nodes.first_child[node])
            kept += [standing(first), standing(first + 1)]
    return np.array(kept, np.int64)
