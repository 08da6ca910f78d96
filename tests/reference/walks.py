"""Made-up trees of every kind of split, and the obvious walk of one row."""

import numpy as np

from jaxtree.growth import SplitKind
from jaxtree.tree import ALL_BRANCHES, Tree

NUM_CODES = 40
"""Codes of a feature, more than a word of a subset has; the one after them means missing."""


def made_up_tree(seed, *, kinds=tuple(SplitKind), missing=(0, 1), num_splits=40, num_features=6):
    """A tree whose every other feature holds numbers, split at thresholds, and the others categories, split by `kinds`.

    `missing` are the branches that missing values may take. The fields of a leaf's split are left to chance.
    """
    rng = np.random.default_rng(seed)
    size = 4 * num_splits + 1
    num_children, first_child, parent, depth = (np.zeros(size, np.int32) for _ in range(4))
    is_number = rng.random(size) < 0.5
    feature = 2 * rng.integers(0, num_features // 2, size) + ~is_number
    kind = np.where(is_number, SplitKind.THRESHOLD, rng.choice(kinds, size))
    used, leaves = 1, [0]
    for _ in range(num_splits):
        node = leaves.pop(int(rng.integers(0, min(3, len(leaves)))))
        number = 4 if kind[node] == SplitKind.MULTIWAY else 2
        num_children[node], first_child[node] = number, used
        children = np.arange(used, used + number)
        parent[children], depth[children] = node, depth[node] + 1
        leaves.extend(children.tolist())
        used += number
    code = rng.integers(0, NUM_CODES, size)
    count = rng.integers(0, 9, (size, 3))
    columns = {
        "feature": np.where(num_children == 0, -2, feature),
        "code": code,
        "next_code": code + 1,
        "threshold": np.where(is_number, rng.normal(size=size), code.astype(float)),
        "split_kind": kind,
        "subset": rng.integers(0, 2**32, (size, 2), dtype=np.uint32),
        "missing_code": np.full(size, NUM_CODES),
        "missing_branch": rng.choice(missing, size),
        "first_child": first_child,
        "num_children": num_children,
        "parent": parent,
        "depth": depth,
        "root": np.zeros(size),
        "weight": count.sum(axis=1),
        "count": count,
        "target_sum": np.zeros((size, 0)),
        "num_rows": count.sum(axis=1),
        "impurity": np.zeros(size),
        "gain": np.zeros(size),
    }
    floats = ("threshold", "target_sum", "impurity", "gain")
    types = {name: np.float64 if name in floats else np.int32 for name in columns} | {"subset": np.uint32}
    arrays = {name: column[:used].astype(types[name]) for name, column in columns.items()}
    return Tree(**arrays, num_nodes=np.array(used, np.int32), num_classes=(3,))


def made_up_values(tree, num_rows, seed, *, share_missing=0.1, num_features=6):
    """Rows for a made-up tree: numbers, of which some lie on its thresholds, and codes of categories."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(num_rows, num_features))
    values[:, ::2] = np.where(rng.random(values[:, ::2].shape) < 0.2, rng.choice(tree.threshold), values[:, ::2])
    values[:, 1::2] = _draw_codes(rng, values[:, 1::2].shape)
    values[rng.random(values.shape) < share_missing] = np.nan
    return values


def made_up_codes(num_rows, seed, *, num_features=6):
    """Rows of codes for a made-up tree, of which some mean missing."""
    rng = np.random.default_rng(seed)
    codes = _draw_codes(rng, (num_features, num_rows))
    return np.where(rng.random(codes.shape) < 0.1, NUM_CODES, codes).astype(np.uint8)


def _draw_codes(rng, shape):
    """Codes, half of which have a branch of their own in a multiway split."""
    return np.where(rng.random(shape) < 0.5, rng.integers(0, 4, shape), rng.integers(0, NUM_CODES, shape))


def walk_value_row(tree, row, start=0):
    """The node where the walk of a row of values ends."""
    node = start
    while tree.num_children[node]:
        value = row[tree.feature[node]]
        branch = tree.missing_branch[node] if np.isnan(value) else _branch_of_value(tree, node, value)
        if branch >= tree.num_children[node]:
            break
        node = int(tree.first_child[node] + branch)
    return node


def walk_code_row(tree, row, stops):
    """The node where the walk of a row of codes ends."""
    node = 0
    while tree.num_children[node] and not stops[node]:
        code = int(row[tree.feature[node]])
        if code == tree.missing_code[node]:
            branch = tree.missing_branch[node]
        elif tree.split_kind[node] == SplitKind.THRESHOLD:
            branch = int(code > tree.code[node])
        else:
            branch = _branch_of_value(tree, node, code)
        if branch >= tree.num_children[node]:
            break
        node = int(tree.first_child[node] + branch)
    return node


def _branch_of_value(tree, node, value):
    match tree.split_kind[node]:
        case SplitKind.THRESHOLD:
            return int(value > tree.threshold[node])
        case SplitKind.MULTIWAY:
            return int(value)
        case SplitKind.ONE_VS_REST:
            return int(value == tree.code[node])
        case _:
            word, bit = divmod(int(value), 32)
            return int(tree.subset[node, word]) >> bit & 1


def mean_of_row(tree, row, of_node, node=0):
    """The prediction of a tree for a row, a missing value sharing it out among the branches that have training
    weight."""
    node = walk_value_row(tree, row, node)
    if not tree.num_children[node] or tree.missing_branch[node] != ALL_BRANCHES:
        return of_node[node]
    children = np.arange(tree.first_child[node], tree.first_child[node] + tree.num_children[node])
    weight = tree.weight[children].astype(float)
    parts = [w * mean_of_row(tree, row, of_node, child) for w, child in zip(weight, children, strict=True) if w > 0]
    return np.sum(parts, axis=0) / weight.sum()
