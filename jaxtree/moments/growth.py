"""Growth of trees whose targets differ from node to node: level by level over the engine.

All trees of a batch grow together. At each level a moment makes the targets of all nodes that may be split anew, in one
pass over their entries, and the engine finds the split of each: the nodes are the roots of a growth of one level. A
node's seed follows from its parent's as in a growth of all levels, so that the mean as the moment grows the trees that
the engine grows at once.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float64, Int, Int32, Int64, Real, UInt, UInt32

from jaxtree.arrays import child_hash
from jaxtree.buckets import capacity_bucket, feature_bucket, pad_to, row_bucket
from jaxtree.growth.host import grow_on_host
from jaxtree.growth.inputs.bundles import Data, Features, Limits, Rules, Sizes, limits_of_roots
from jaxtree.growth.inputs.tables import sizes_of_subsets, tables_of_kinds
from jaxtree.growth.loop.grow import grow_checked
from jaxtree.kernels.choose import Engine
from jaxtree.moments.moment import Moment, NodeRows
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.nodes import branch_of_code

FEWEST_ROOTS = 16
"""Nodes of a level are padded to a power of two, this at least, where a program grows them."""

COPIED = (
    "feature", "code", "next_code", "threshold", "split_kind", "missing_code", "missing_branch", "num_children", "gain",
    "impurity",
)  # fmt: skip
"""The fields of a node that follow from its split."""


class RowCodes(NamedTuple):
    """The table that trees are grown on.

    Attributes:
        codes: The codes of every feature.
        features: How the features may be split.
        num_bins: Codes of the feature that has most.
    """

    codes: UInt[np.ndarray, "feature row"]
    features: Features
    num_bins: int


class TreeEntries(NamedTuple):
    """The rows of some trees.

    Attributes:
        row: The row of every entry.
        tree: Its tree, counted from the first.
        weight: Its weight, above 0; whole numbers of an integer type, or multiples of one unit.
    """

    row: Int32[np.ndarray, " entry"]
    tree: Int32[np.ndarray, " entry"]
    weight: Real[np.ndarray, " entry"]


class Level(NamedTuple):
    """The nodes of one depth that may be split.

    Attributes:
        node: The number of each among all nodes of its depth.
        tree: Its tree.
        seed: The seed of what it draws.
        solution: The solution of its parent.
        rows: Its entries.
    """

    node: Int64[np.ndarray, " node"]
    tree: Int64[np.ndarray, " node"]
    seed: UInt32[np.ndarray, " node"]
    solution: Float64[np.ndarray, "node parameter"]
    rows: NodeRows


def grow_relabelled(
    table: RowCodes,
    entries: TreeEntries,
    moment: Moment,
    limits: Limits,
    rules: Rules,
    seeds: UInt32[np.ndarray, " tree"],
    *,
    engine: Engine,
    least_share: float = 0.0,
) -> Tree:
    """Grows trees whose splits are chosen by the pseudo-outcomes of a moment, with thresholds in codes.

    The roots are the first nodes of the table. Nodes have no sums of targets.

    Args:
        table: The table.
        entries: The rows of every tree.
        moment: The moment; its objective takes the place of that of the rules.
        limits: When a node is not split: numbers, or arrays of one number a tree.
        rules: How splits are scored, chosen and made; trees do not grow best-first, nor share rows among branches.
        seeds: The seed of what every tree draws.
        engine: Who grows, see `jaxtree.growth.native.engine_of`.
        least_share: The least share of a node's weight in a branch.

    Example:
        >>> from jaxtree.growth.native import engine_of
        >>> from jaxtree.moments.quantiles import Quantiles
        >>> features = Features(np.zeros(1, np.int32), np.full(1, 4, np.int32))
        >>> table = RowCodes(np.array([[0, 1, 2, 3]], np.uint8), features, 4)
        >>> entries = TreeEntries(np.arange(4, dtype=np.int32), np.zeros(4, np.int32), np.ones(4, np.int32))
        >>> moment = Quantiles(np.array([0, 1, 7, 8]), (0.5,))
        >>> rules = Rules(moment.objective)
        >>> engine = engine_of(rules, "cpu", on_host=True)
        >>> tree = grow_relabelled(table, entries, moment, Limits(), rules, np.zeros(1, np.uint32), engine=engine)
        >>> tree.num_nodes.item(), tree.code[:3].tolist()
        (7, [1, 0, 2])
    """
    rules = rules._replace(objective=moment.objective)
    limits = limits_of_roots(limits, seeds.size)
    rank = entries.row if moment.rank is None else moment.rank[entries.row]
    order = np.lexsort((rank, entries.tree))
    row, tree, weight = (values[order] for values in entries)
    rows = NodeRows.of(row, tree, weight, seeds.size)
    node = np.arange(seeds.size)
    start = np.broadcast_to(moment.start, (seeds.size, moment.start.size)).astype(np.float64)
    num_words = _num_words(table)
    whole = _LevelNodes.of_roots(rows, num_words)
    level = _open(Level(node, node, seeds, start, rows), whole, limits, rules, depth=0)
    tables, depth, first = [whole], 0, 0
    while level.node.size:
        relabelled = moment.relabel(level.rows, level.solution)
        level, target = _without_closed(level, relabelled.is_open, relabelled.target, relabelled.solution)
        if not level.node.size:
            break
        current = tables[-1]
        own_limits = _limits_of_level(limits, level, tables[0], current, least_share)
        grown = _grow_level(table, level, target, own_limits, rules, engine)
        if relabelled.exponent is not None:
            grown = _with_gains(grown, relabelled.exponent[relabelled.is_open])
        following = current.take_splits(level.node, grown, first + current.size, first)
        level = _children(level, grown, table.codes, relabelled_solution=level.solution)
        first, depth = first + current.size, depth + 1
        tables.append(following)
        level = _open(level, following, limits, rules, depth)
    return _joined(tables)


class _LevelNodes:
    """The fields of all nodes of one depth, by their names; those of splits are filled in later."""

    def __init__(self, fields: dict[str, np.ndarray]):
        self.fields = fields

    @property
    def size(self) -> int:
        return self.fields["weight"].size

    @classmethod
    def of_roots(cls, rows: NodeRows, num_words: int) -> "_LevelNodes":
        number = np.arange(rows.num_nodes, dtype=np.int32)
        weight = np.bincount(rows.node, rows.weight, minlength=number.size)
        weight = weight.astype(np.int32 if rows.weight.dtype.kind in "iu" else np.float64)
        num_rows = np.diff(rows.first).astype(np.int32)
        zero = np.zeros_like(number)
        return cls(_blank(number.size, num_words) | {
            "weight": weight, "num_rows": num_rows, "parent": number, "root": number, "depth": zero,
        })  # fmt: skip

    def take_splits(self, node: Int64[np.ndarray, " open"], grown: Tree, first_child: int, first: int) -> "_LevelNodes":
        """Takes the splits of some nodes, and returns their children, numbered from `first_child` on."""
        own, number = self.fields, node.size
        for name in COPIED:
            own[name][node] = np.asarray(getattr(grown, name))[:number]
        own["subset"][node] = np.asarray(grown.subset)[:number]
        split = np.flatnonzero(~np.asarray(grown.is_leaf)[:number])
        counts = np.asarray(grown.num_children)[split]
        begins = np.cumsum(counts) - counts
        own["first_child"][node[split]] = first_child + begins
        branch = np.arange(counts.sum()) - np.repeat(begins, counts)
        child = np.repeat(np.asarray(grown.first_child)[split], counts) + branch
        parent = np.repeat(node[split], counts)
        return _LevelNodes(_blank(child.size, own["subset"].shape[1]) | {
            "weight": np.asarray(grown.weight)[child], "num_rows": np.asarray(grown.num_rows)[child].astype(np.int32),
            "parent": (first + parent).astype(np.int32), "root": own["root"][parent],
            "depth": own["depth"][parent] + np.int32(1),
        })  # fmt: skip


def _blank(size: int, num_words: int) -> dict[str, np.ndarray]:
    """The fields of leaves that follow from splits."""
    whole, real = np.zeros(size, np.int32), np.zeros(size)
    names = [name for name in COPIED if name not in ("threshold", "gain", "impurity")]
    fields = {name: whole.copy() for name in (*names, "first_child")}
    fields |= {name: real.copy() for name in ("threshold", "gain", "impurity")}
    return fields | {"subset": np.zeros((size, num_words), np.uint32)}


def _joined(tables: list[_LevelNodes]) -> Tree:
    """The nodes of all depths in one table."""
    fields: dict[str, Any] = {name: np.concatenate([own.fields[name] for own in tables]) for name in tables[0].fields}
    size = fields["weight"].size
    none = np.zeros((size, 0))
    own: dict[str, Any] = {"count": none, "target_sum": none, "num_nodes": np.array(size, np.int32), "num_classes": ()}
    return Tree(**fields | own)


def _open(level: Level, nodes: _LevelNodes, limits: Limits, rules: Rules, depth: int) -> Level:
    """The nodes of a level that the limits allow to be split; the engine asks more of them."""
    weight, num_rows = (nodes.fields[name][level.node] for name in ("weight", "num_rows"))
    least = np.maximum(limits.min_samples_split, 2 * limits.min_samples_leaf)[level.tree]
    is_open = (
        (num_rows > 1) & ((num_rows if rules.counts_rows else weight) >= least) & (depth < limits.max_depth[level.tree])
    )
    return _without_closed(level, is_open)[0]


def _without_closed(level: Level, is_open: Any, target: Any = None, solution: Any = None) -> tuple[Level, Any]:
    """The open nodes of a level with their entries, and the targets of these."""
    level = level if solution is None else level._replace(solution=solution)
    if is_open.all():
        return level, target
    rows, kept = level.rows, is_open[level.rows.node]
    number = np.cumsum(is_open) - 1
    left = NodeRows.of(rows.row[kept], number[rows.node[kept]], rows.weight[kept], int(is_open.sum()))
    node, tree, seed, parent = (values[is_open] for values in level[:4])
    own = Level(node, tree, seed, parent, left)
    return own, None if target is None else target[:, kept]


def _limits_of_level(
    limits: Limits, level: Level, roots: _LevelNodes, nodes: _LevelNodes, least_share: float
) -> Limits:
    """The limits of the nodes of a level, which may be one deeper; a decrease of impurity is a share of the tree's."""
    own = Limits(*(values[level.tree] for values in limits))
    weight = nodes.fields["weight"][level.node]
    share = roots.fields["weight"][level.tree] / weight
    return own._replace(
        max_depth=np.ones(level.node.size, np.int32),
        min_impurity_decrease=own.min_impurity_decrease * share,
        min_weight_leaf=np.maximum(own.min_weight_leaf, least_share * weight),
    )


def _grow_level(table: RowCodes, level: Level, target: Any, limits: Limits, rules: Rules, engine: Engine) -> Tree:
    """The best split of every node of a level, with its children."""
    rows, number = level.rows, level.node.size
    placeholder = np.broadcast_to(target.dtype.type(0), (len(target), table.codes.shape[1]))
    if engine is Engine.HOST:
        data = Data(table.codes, placeholder, rows.weight, rows.row, rows.node, target)
        return grow_on_host(data, table.features, limits, rules, table.num_bins, level.seed)
    num_roots = max(FEWEST_ROOTS, 1 << (number - 1).bit_length())
    size = row_bucket(rows.row.size)
    row, node, weight = (pad_to(values, size) for values in (rows.row, rows.node, rows.weight))
    padding = feature_bucket(len(table.codes)) - len(table.codes)
    codes = np.pad(table.codes, ((0, padding), (0, 0)))
    data = Data(codes, placeholder, weight, row, node, np.pad(target, ((0, 0), (0, size - rows.row.size))))
    limits = Limits(
        *(
            np.pad(own, [(0, num_roots - number)] + [(0, 0)] * (own.ndim - 1), mode="edge")
            for own in map(np.asarray, limits)
        )
    )
    seed, capacity = pad_to(level.seed, num_roots), capacity_bucket(3 * num_roots)
    with jax.enable_x64(True):
        while True:
            sizes = Sizes(table.num_bins, capacity, num_roots)
            tree, complete = grow_checked(data, table.features.with_empty(padding), limits, rules, sizes, seed)
            if complete:
                return jax.tree.map(np.asarray, tree)
            capacity *= 4


def _children(level: Level, grown: Tree, codes: Any, relabelled_solution: Any) -> Level:
    """The children of the nodes that were split, with their entries in the order of these."""
    number, rows = level.node.size, level.rows
    counts = np.where(np.asarray(grown.is_leaf)[:number], 0, np.asarray(grown.num_children)[:number]).astype(np.int64)
    parent = np.repeat(np.arange(number), counts)
    begins = np.cumsum(counts) - counts
    branch_of_child = np.arange(parent.size) - begins[parent]
    seed = child_hash(level.seed[parent], branch_of_child.astype(np.uint32))
    row, node, weight = rows.row, rows.node, rows.weight
    if not counts.all():
        kept = counts[node] > 0
        row, node, weight = row[kept], node[kept], weight[kept]
    branch = _branches(grown, node, codes[np.asarray(grown.feature)[node], row])
    stays = branch >= counts[node]
    if stays.any():
        row, node, weight, branch = (values[~stays] for values in (row, node, weight, branch))
    child = begins[node] + branch
    order = np.argsort(child.astype(np.uint16) if parent.size <= 2**16 else child, kind="stable")
    left = NodeRows.of(row[order], child[order], weight[order], parent.size)
    return Level(np.arange(parent.size), level.tree[parent], seed, relabelled_solution[parent], left)


def _branches(grown: Tree, node: Any, code: Any) -> Int[np.ndarray, " entry"]:
    """The branch that every entry takes at its node."""
    inner = ~np.asarray(grown.is_leaf)
    if (np.asarray(grown.split_kind)[inner] == SplitKind.THRESHOLD).all():
        is_missing = code == grown.missing_code[node]
        branch = (code > grown.code[node]).astype(np.int32)
        return np.where(is_missing, grown.missing_branch[node], branch) if is_missing.any() else branch
    return branch_of_code(grown, node, code.astype(np.int32))


def _with_gains(grown: Tree, exponent: Int[np.ndarray, " node"]) -> Tree:
    """Returns the nodes with gains of targets that were divided by powers of two."""
    gain = np.array(grown.gain)
    gain[: exponent.size] = np.ldexp(gain[: exponent.size], 2 * exponent)
    return dataclasses.replace(grown, gain=gain)


def _num_words(table: RowCodes) -> int:
    """The words of a subset; 0 where no feature is split by subsets."""
    if SplitKind.SUBSET not in set(table.features.split_kind.tolist()):
        return 0
    return sizes_of_subsets(tables_of_kinds(table.features, table.num_bins), table.num_bins).num_words
