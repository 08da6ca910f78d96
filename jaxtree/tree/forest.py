"""Many trees in one table of nodes, tree after tree.

A *boundary* stands before every tree and behind the last, so tree t has the nodes from `first_node[t]` to
`first_node[t + 1] - 1`.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Int, Int64

from jaxtree.errors import InvalidInputError
from jaxtree.tree.checks import check_mask
from jaxtree.tree.nodes import children_of
from jaxtree.tree.subsets import join_subsets, map_columns, on_host
from jaxtree.tree.tree import Tree


@dataclasses.dataclass(frozen=True)
class Forest:
    """Trees in one table, on the host; a sequence of them that costs nothing to slice.

    Attributes:
        nodes: The table. A root is the first node of its tree, and each tree stands in breadth-first order.
        first_node: Where every tree begins, and the number of nodes at the end.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], [0, 1, 1]).tree_
        >>> forest = join_trees([tree, tree])
        >>> len(forest), forest.first_node.tolist(), forest.nodes.first_child.tolist()
        (2, [0, 3, 6], [1, 0, 0, 4, 0, 0])
        >>> forest[1].first_child.tolist()
        [1, 0, 0]
    """

    nodes: Tree
    first_node: Int64[np.ndarray, " boundary"]

    @classmethod
    def of(cls, tree: Tree) -> "Forest":
        """A tree without padding and with its root at node 0, as a forest of one."""
        return cls(tree, np.array([0, tree.node_count]))

    def __len__(self) -> int:
        """The number of trees."""
        return self.first_node.size - 1

    def __getitem__(self, number: int) -> Tree:
        """One tree alone; its arrays are views, except those that hold nodes.

        Raises IndexError if there is no such tree.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"tree {number} of a forest of {len(self)}")
        first, end = (int(node) for node in self.first_node[number : number + 2])
        tree = map_columns(lambda x: x[first:end] if x.ndim else x, self.nodes)
        return dataclasses.replace(_moved(tree, -first), num_nodes=np.array(end - first, np.int32))

    def __iter__(self) -> Iterator[Tree]:
        """The trees, one after the other."""
        return (self[number] for number in range(len(self)))

    def first(self, number: int) -> "Forest":
        """The first trees, as views."""
        if number == len(self):
            return self
        end = int(self.first_node[number])
        nodes = map_columns(lambda x: x[:end] if x.ndim else x, self.nodes)
        return Forest(dataclasses.replace(nodes, num_nodes=np.array(end, np.int32)), self.first_node[: number + 1])

    def take(self, numbers: Int[np.ndarray, " taken"]) -> "Forest":
        """Returns some of the trees, in the given order."""
        sizes = self.num_nodes[numbers]
        boundaries = np.concatenate([[0], np.cumsum(sizes)])
        shift = np.repeat(self.first_node[numbers] - boundaries[:-1], sizes)
        nodes = np.arange(boundaries[-1]) + shift
        taken = map_columns(lambda x: x[nodes] if x.ndim else x, self.nodes)
        moved = _moved(taken, -shift)
        return Forest(dataclasses.replace(moved, num_nodes=np.array(boundaries[-1], np.int32)), boundaries)

    @property
    def num_nodes(self) -> Int64[np.ndarray, " tree"]:
        """How many nodes each tree has."""
        return np.diff(self.first_node)

    @property
    def tree_of_node(self) -> Int64[np.ndarray, " node"]:
        """The number of every node's tree."""
        return np.repeat(np.arange(len(self)), self.num_nodes)


def take_trees(
    table: Tree, roots: Int[np.ndarray, " tree"], *, collapsed: Bool[np.ndarray, " node"] | None = None
) -> Forest:
    """Takes trees out of a table, on the host: without padding, other trees and what is below collapsed nodes.

    Each stands in breadth-first order, whatever order its nodes were made in; parents and depths follow from children.

    Args:
        table: A table of nodes in any order.
        roots: The roots of the trees, in ascending order.
        collapsed: The nodes that become leaves.
    """
    table = map_columns(on_host, table)
    if collapsed is None and _is_tree_alone(table, roots):
        return Forest.of(table)
    stops = table.is_leaf if collapsed is None else table.is_leaf | np.asarray(collapsed)
    level, number = np.asarray(roots), np.arange(len(roots))
    parent, depth = table.parent.copy(), table.depth.copy()
    levels, numbers = [], []
    while level.size:
        levels.append(level)
        numbers.append(number)
        above = level[~stops[level]]
        number = np.repeat(number[~stops[level]], table.num_children[above])
        level = children_of(table, above)
        parent[level] = np.repeat(above, table.num_children[above])
        depth[level] = len(levels)
    tree_of_node = np.concatenate(numbers)
    old = np.concatenate(levels)[_stable_order(tree_of_node, len(roots))]
    new = np.zeros(stops.size, np.int32)
    new[old] = np.arange(old.size)
    first_node = np.concatenate([[0], np.cumsum(np.bincount(tree_of_node, minlength=len(roots)))])
    taken, leaf = map_columns(lambda x: x[old] if x.ndim else x, table), stops[old]
    nodes = dataclasses.replace(
        taken,
        parent=new[parent[old]],
        depth=depth[old],
        root=new[taken.root],
        first_child=np.where(leaf, 0, new[taken.first_child]).astype(np.int32),
        num_children=np.where(leaf, 0, taken.num_children).astype(np.int32),
        gain=np.where(leaf, 0, taken.gain),
        num_nodes=np.array(old.size, np.int32),
    )
    return Forest(nodes, first_node)


def _is_tree_alone(table: Tree, roots: Int[np.ndarray, " tree"]) -> bool:
    """Whether a table is one tree, without padding, in breadth-first order, whose leaves have no split."""
    if len(roots) != 1 or roots[0] or table.node_count < table.capacity or table.root.any():
        return False
    leaf, number = table.is_leaf, table.num_children
    inner = np.flatnonzero(~leaf)
    first_child = np.cumsum(number) - number + 1
    return bool(
        number.sum() + 1 == table.capacity
        and np.array_equal(table.first_child, np.where(leaf, 0, first_child))
        and np.array_equal(table.parent[1:], np.repeat(inner, number[inner]))
        and np.array_equal(table.depth[1:], table.depth[table.parent[1:]] + 1)
        and not table.depth[0]
        and not table.gain[leaf].any()
    )


def take_tree(tree: Tree, *, root: int = 0, collapsed: Bool[np.ndarray, " node"] | None = None) -> Tree:
    """Returns one tree alone, on the host: without padding, other trees and what is below collapsed nodes.

    Its nodes stand in breadth-first order, whatever order they were made in.

    Raises:
        InvalidInputError: There is no such node, or `collapsed` does not have one value a node.
        InvalidTypeError: `collapsed` holds no booleans.
    """
    if not isinstance(root, int | np.integer) or not 0 <= root < int(tree.num_nodes):
        raise InvalidInputError(f"root must be one of {int(tree.num_nodes)} nodes, got {root!r}")
    if collapsed is not None:
        check_mask(tree, collapsed)
    return take_trees(tree, np.array([root]), collapsed=collapsed).nodes


def join_forests(forests: Sequence[Forest]) -> Forest:
    """Puts the trees of several forests behind one another."""
    if len(forests) == 1:
        return forests[0]
    sizes = [forest.first_node[-1] for forest in forests]
    offsets = np.cumsum([0, *sizes])
    moved = [_moved(forest.nodes, int(offset)) for forest, offset in zip(forests, offsets, strict=False)]
    subset = join_subsets([nodes.subset for nodes in moved])
    others = [dataclasses.replace(nodes, subset=np.zeros((nodes.capacity, 0), np.uint32)) for nodes in moved]
    nodes = map_columns(lambda *parts: np.concatenate(parts) if parts[0].ndim else parts[0], *others)
    boundaries = [forest.first_node[:-1] + offset for forest, offset in zip(forests, offsets, strict=False)]
    nodes = dataclasses.replace(nodes, subset=subset, num_nodes=np.array(offsets[-1], np.int32))
    return Forest(nodes, np.concatenate([*boundaries, offsets[-1:]]))


def join_trees(trees: Sequence[Tree]) -> Forest:
    """Puts single trees, each without padding and with its root at node 0, into one table."""
    return join_forests([Forest.of(tree) for tree in trees])


def with_all_scores(forest: Forest, num_scores: int) -> Forest:
    """Returns trees, one a score and round after round, as trees of all scores, which leave all but one as they are."""
    nodes = forest.nodes
    sums = np.zeros((nodes.node_count, num_scores))
    sums[np.arange(len(sums)), forest.tree_of_node % num_scores] = nodes.target_sum[:, 0]
    return Forest(dataclasses.replace(nodes, target_sum=sums), forest.first_node)


def with_own_scores(forest: Forest) -> Forest:
    """Returns trees of all scores that change one each as trees of that one, which `with_all_scores` takes."""
    nodes = forest.nodes
    score = forest.tree_of_node % nodes.target_sum.shape[1]
    sums = np.take_along_axis(nodes.target_sum, score[:, None], axis=1)
    return Forest(dataclasses.replace(nodes, target_sum=sums), forest.first_node)


def _moved(nodes: Tree, offset: int | Int[np.ndarray, " node"]) -> Tree:
    """The nodes with numbers that are larger by an offset, or by one each; a leaf's first child stays 0."""
    return dataclasses.replace(
        nodes,
        parent=(nodes.parent + offset).astype(np.int32),
        root=(nodes.root + offset).astype(np.int32),
        first_child=np.where(nodes.is_leaf, 0, nodes.first_child + offset).astype(np.int32),
    )


def _stable_order(numbers: Int[np.ndarray, " node"], end: int) -> Int[np.ndarray, " node"]:
    """The stable order of numbers below `end`; NumPy sorts those of 16 bits by their digits, which is faster."""
    return np.argsort(numbers.astype(np.uint16) if end <= 2**16 else numbers, kind="stable")
