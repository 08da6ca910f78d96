"""Paths from the root to the nodes: where walks stop under masks, and sums and products along paths.

On the host, trees are walked level by level. Functions that may be traced follow paths by doubling: after k steps every
node has combined the values up to $2^k$ edges above it. The number of steps is fixed by the size of the table, so that
there is a gradient and no loop over levels, however deep the tree.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Num, Real, Shaped

from jaxtree.arrays import AnyArray, is_traced, library_of
from jaxtree.lazy import Array, jnp, lax
from jaxtree.tree.nodes import pad_to_bucket
from jaxtree.tree.tree import Tree

FEWEST_PLACES = 64
"""Inner nodes are padded to a power of two, this at least."""


def stop_at(tree: Tree, collapsed: Bool[AnyArray, " node"]) -> Tree:
    """Returns the tree with collapsed nodes as leaves; what was below them stays in the table, where no walk comes.

    Prunings that look at a whole tree can so follow one another on one table, and their masks unite by `|`.
    """
    num_children = library_of(tree.num_children, collapsed).where(collapsed, 0, tree.num_children)
    return dataclasses.replace(tree, num_children=num_children.astype(np.int32))


def levels(tree: Tree) -> list[Int[np.ndarray, " node"]]:
    """Returns the nodes of every depth, the root's first."""
    depth = np.asarray(tree.depth)
    by_depth = np.argsort(depth, kind="stable")
    return np.split(by_depth, np.cumsum(np.bincount(depth))[:-1])


def survivors(tree: Tree, collapsed: Bool[np.ndarray, "mask node"]) -> Bool[np.ndarray, "mask node"]:
    """Returns which nodes walks still come to under each mask: the root, and the children of those that go on.

    On the host; a tree with its root at node 0.
    """
    kept = np.zeros(collapsed.shape[::-1], bool)
    kept[0] = True
    goes_on = ~collapsed.T & ~np.asarray(tree.is_leaf)[:, None]
    for nodes in levels(tree)[1:]:
        parent = np.asarray(tree.parent)[nodes]
        kept[nodes] = kept[parent] & goes_on[parent]
    return kept.T


def ends_under(tree: Tree, collapsed: Bool[np.ndarray, " node"]) -> Int[np.ndarray, " node"]:
    """Returns, for a walk that ends at each node, where it ends under the mask: at its first collapsed node."""
    end, parent = np.arange(tree.capacity), np.asarray(tree.parent)
    stops = np.asarray(collapsed) | np.asarray(tree.is_leaf)
    for nodes in levels(tree)[1:]:
        above = end[parent[nodes]]
        end[nodes] = np.where(stops[above], above, nodes)
    return end


def sum_subtrees(tree: Tree, values: Float[np.ndarray, "node column"]) -> Float[np.ndarray, "node column"]:
    """Returns the sums over every node and all nodes below it, on the host."""
    sums, fed = values.copy(), feeds_parent(tree)
    for nodes in reversed(levels(tree)[1:]):
        nodes = nodes[fed[nodes]]
        np.add.at(sums, tree.parent[nodes], sums[nodes])
    return sums


class Links(NamedTuple):
    """The links of a node table, of a tree on the host padded to a bucket with leaves that no walk reaches.

    In a tree that was stopped, nodes may stand below a leaf; no row comes there, so sums of rows need not mind them.
    """

    parent: Int[AnyArray, " node"]
    first_child: Int[AnyArray, " node"]
    num_children: Int[AnyArray, " node"]
    depth: Int[AnyArray, " node"]


class Inner(NamedTuple):
    """A list of the root and all inner nodes, and maybe others; only inner nodes matter to a draw.

    Attributes:
        node: The node at every place of the list; the root at the first. Spare places hold a leaf.
        above: The place of every node's parent.
    """

    node: Int[AnyArray, " place"]
    above: Int[AnyArray, " node"]

    @property
    def parent(self) -> Int[AnyArray, " place"]:
        """The place of the node above every place's."""
        return self.above[self.node]


def feeds_parent(links: Tree | Links) -> Bool[AnyArray, " node"]:
    """Whether the node's parent is split.

    In a tree that was stopped, nodes may still stand below a leaf where no walk comes; the root and the padding of a
    table have no parent.
    """
    return (links.depth > 0) & (links.num_children[links.parent] > 0)


def sum_over_children(links: Tree | Links, values: Num[AnyArray, "node *column"]) -> Num[AnyArray, "node *column"]:
    """Returns the sums of values over the children of every node; 0 for a leaf."""
    is_child, parent = feeds_parent(links), links.parent
    if library_of(parent, values) is jnp:
        values = jnp.asarray(values)
        return jnp.zeros_like(values).at[jnp.where(is_child, parent, len(values))].add(values, mode="drop")
    sums = np.zeros_like(values)
    np.add.at(sums, parent[is_child], values[is_child])
    return sums


def binary_links(is_leaf: Bool[np.ndarray, " node"]) -> Links:
    """Returns the links of a binary tree in breadth-first order: its k-th inner node has children 2k + 1 and 2k + 2."""
    parent = np.append(0, np.repeat(np.flatnonzero(~is_leaf), 2))
    depth = np.zeros(is_leaf.size, np.int32)
    for node in range(1, is_leaf.size):
        depth[node] = depth[parent[node]] + 1
    first_child = np.where(is_leaf, 0, 2 * np.cumsum(~is_leaf) - 1)
    return Links(parent.astype(np.int32), first_child.astype(np.int32), np.where(is_leaf, 0, 2).astype(np.int32), depth)


def links_of(tree: Tree) -> Links:
    """Returns the links of a tree; a traced one's are not padded."""
    links = (getattr(tree, name) for name in Links._fields)
    return Links(*links) if is_traced(tree) else Links(*map(pad_to_bucket, links))


def inner_nodes(links: Links) -> Inner:
    """Returns the inner nodes; of a traced tree, which cannot be counted, all nodes."""
    if is_traced(links):
        return Inner(jnp.arange(len(links.parent), dtype=jnp.int32), links.parent)
    # The root is in the list also as a leaf, where a stopped tree may still have inner nodes that no walk reaches.
    inner = np.concatenate([[0], 1 + np.flatnonzero(links.num_children[1:] > 0)]).astype(np.int32)
    size = max(FEWEST_PLACES, 1 << (inner.size - 1).bit_length())
    place = np.zeros(len(links.parent), np.int32)
    place[inner] = np.arange(inner.size)
    leaf = np.argmin(links.num_children).astype(np.int32)
    return Inner(np.concatenate([inner, np.full(size - inner.size, leaf)]), place[links.parent])


def trim(values: Shaped[AnyArray, "*batch"], num_nodes: int, axis: int = -1) -> Shaped[AnyArray, "*trimmed"]:
    """Takes the padding off a table's axis of nodes; what is not traced comes to the host, where that is free."""
    values = values if is_traced(values) else np.asarray(values)
    return values[(..., slice(num_nodes), *[slice(None)] * (-1 - axis))]


def along_path(
    combine: Callable[[Array, Array], Array],
    values: Shaped[Array, "*batch"],
    parent: Int[Array, " node"],
    axis: int = -1,
) -> Shaped[Array, "*batch"]:
    """Combines the value of every node with those of all nodes above it.

    Args:
        combine: An associative and commutative function; the root's value must combine with itself to itself.
        values: The values.
        parent: The node above; the root's is itself.
        axis: The axis of the nodes.
    """

    def double(_, state):
        values, above = state
        return combine(values, jnp.take(values, above, axis=axis, mode="clip")), above[above]

    return lax.fori_loop(0, _num_doublings(parent), double, (values, jnp.asarray(parent)))[0]


def sum_below(
    links: Links, values: Num[Array, "*batch node"], factor: Real[Array, "*batch node"] | None = None
) -> Num[Array, "*batch node"]:
    r"""Returns $S_v = x_v + \sum_c f_c\, S_c$ over the children c of every node; the factors f are 1 if not given.

    After k steps a node's sum has the terms of up to $2^k$ edges below it, and its factor is that of as many above.
    """
    num_nodes = links.parent.shape[0]
    values, factor = jnp.asarray(values), jnp.ones_like(values) if factor is None else factor

    def double(_, state):
        values, factor, above = state
        values = values.at[..., above].add(factor * values, mode="drop")
        factor = factor * factor.at[..., above].get(mode="fill", fill_value=1)
        return values, factor, above.at[above].get(mode="fill", fill_value=num_nodes)

    above = jnp.where(links.depth > 0, links.parent, num_nodes)
    return lax.fori_loop(0, _num_doublings(above), double, (values, factor, above))[0]


def _num_doublings(nodes: Int[Array, " node"]) -> int:
    """Steps after which the deepest node of such a table has seen its root."""
    return (nodes.shape[0] - 1).bit_length()
