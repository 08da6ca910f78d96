"""An oblique tree as others are: its planes in terms of the table, and a tree of thresholds on them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from jaxtree.errors import InvalidInputError
from jaxtree.export.planes import Planes, TermKind
from jaxtree.soft.oblique import ObliqueTree
from jaxtree.soft.scaling import Standard
from jaxtree.table.binning import Bins
from jaxtree.table.schema import Column, Feature, Schema
from jaxtree.tree import SplitKind, Tree


def planes_in_terms(oblique: ObliqueTree) -> Planes:
    """Returns the planes of the nodes that split, in their order; of a single leaf one of zeros.

    Raises InvalidInputError if a column is scaled by quantiles, which other programs have not.
    """
    inputs, terms = oblique.inputs, []
    for feature, scale in enumerate(inputs.scales):
        column = inputs.schema.features[feature].column
        if scale is None:
            terms += [(column, TermKind.CATEGORY, float(code), 1.0) for code in range(inputs.width(feature))]
        elif isinstance(scale, Standard):
            terms.append((column, TermKind.NUMBER, scale.mean, scale.deviation))
        else:
            raise InvalidInputError(
                f"column {inputs.schema.column_names[column]!r} is scaled by quantiles, which this form cannot say: "
                "fit the soft tree with scaling='standard'"
            )
    indicated = inputs.with_indicator.tolist()
    terms += [(inputs.schema.features[feature].column, TermKind.MISSING, 0.0, 1.0) for feature in indicated]
    column, kind, middle, unit = (np.array(part) for part in zip(*terms, strict=True))
    nodes = _asking(oblique)
    return Planes(inputs.schema, column, kind, middle, unit, oblique.normal[nodes], oblique.offset[nodes])


def thresholds_on_planes(oblique: ObliqueTree, column_names: Sequence[str] | None = None) -> tuple[Tree, Schema]:
    """Returns the tree as one of thresholds, and a schema whose columns are the planes in words.

    Args:
        oblique: The tree.
        column_names: Other names of the columns of its table.

    Raises:
        InvalidInputError: There is not one name a column.
    """
    if column_names is not None:
        inputs = replace(oblique.inputs, schema=oblique.inputs.schema.renamed(column_names))
        oblique = replace(oblique, inputs=inputs)
    nodes, size, is_leaf = _asking(oblique), oblique.node_count, oblique.is_leaf
    words, limits = zip(*(oblique.plane_in_words(node) for node in nodes.tolist()), strict=True)
    feature, threshold = np.zeros(size, np.int32), np.zeros(size)
    feature[nodes], threshold[nodes] = np.arange(nodes.size), limits
    told, none, zero = oblique.value * oblique.weight[:, None], np.zeros((size, 0)), np.zeros(size, np.int32)
    tree = Tree(
        feature=feature,
        code=zero,
        next_code=zero + 1,
        threshold=threshold,
        split_kind=np.full(size, SplitKind.THRESHOLD, np.int32),
        subset=np.zeros((size, 0), np.uint32),
        missing_code=zero + 2,
        missing_branch=zero,
        first_child=oblique.first_child.astype(np.int32),
        num_children=np.where(is_leaf, 0, 2).astype(np.int32),
        parent=oblique.parent.astype(np.int32),
        depth=oblique.depth.astype(np.int32),
        root=zero,
        weight=oblique.weight,
        count=told if oblique.num_classes else none,
        target_sum=none if oblique.num_classes else told,
        num_rows=oblique.num_rows.astype(np.int32),
        impurity=np.zeros(size),
        gain=np.zeros(size),
        num_nodes=np.array(size, np.int32),
        num_classes=oblique.num_classes,
    )
    return tree, _schema_of_planes(words, limits)


def _asking(oblique: ObliqueTree) -> Int[np.ndarray, " plane"]:
    """The nodes that split; of a single leaf itself."""
    return np.flatnonzero(~oblique.is_leaf) if oblique.node_count > 1 else np.zeros(1, np.int64)


def _schema_of_planes(words: tuple[str, ...], limits: tuple[float, ...]) -> Schema:
    """A column for every plane, whose two codes lie on its two sides."""
    columns, features = [], []
    for number, (name, limit) in enumerate(zip(words, limits, strict=True)):
        sides = np.array([np.nextafter(limit, -np.inf), np.nextafter(limit, np.inf)])
        bins = Bins(sides, sides.copy(), np.array([limit]), exact=False)
        columns.append(Column(name, "numeric", (), bins, has_missing=False))
        features.append(Feature(name, number, "numeric", None, 2, has_missing=False))
    return Schema(tuple(columns), tuple(features))
