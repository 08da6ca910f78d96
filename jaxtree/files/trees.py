"""Records of trees and forests in files: the columns and the target of their table, and their nodes.

Features follow from the columns, and parents, depths and roots of nodes from the children.
"""

import dataclasses
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64, Key, Real, Shaped, UInt32

from jaxtree.files.records import check, is_pruning, require, require_finite
from jaxtree.kernels.walk import CODES_PER_WORD
from jaxtree.lazy import Array, jax, jnp
from jaxtree.table.binning import Bins
from jaxtree.table.columns import MAX_CODES
from jaxtree.table.encoder import Encoder
from jaxtree.table.rare_words import RareWords
from jaxtree.table.reading import default_names
from jaxtree.table.schema import Column, Columns, Schema
from jaxtree.table.times import KINDS, NANOSECONDS, TimeScale
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.forest import Forest
from jaxtree.tree.model import FittedModel, RowSums
from jaxtree.tree.subsets import SharedSubsets

_KINDS = ("numeric", "ordered", "categorical", "boolean")
_MOST_DAYS = 2**63 // 86_400


class OutputClasses(NamedTuple):
    """The classes of an output.

    Attributes:
        names: The classes in ascending order.
        order: Their places in the order in which they were declared.
    """

    names: Shaped[np.ndarray, " class"]
    order: Int64[np.ndarray, " class"]


class FittedTable(NamedTuple):
    """All that an estimator learns of its table and target.

    Attributes:
        columns: The columns.
        options: How they are encoded: an encoder without a schema.
        is_named: Whether the columns had names in the table.
        beside: Columns of the fitted source that are no features: target and weights.
        max_features: How many features are drawn at a node, if that was learned.
        num_outputs: The number of outputs; None of classes of one output in older files.
        outputs: The classes of every output; empty for numbers.
        is_vector: Whether numbers were given, and are predicted, without an axis of outputs.
    """

    columns: tuple[Column, ...]
    options: Encoder
    is_named: bool
    beside: tuple[str, ...]
    max_features: int | None
    num_outputs: int | None
    outputs: tuple[OutputClasses, ...]
    is_vector: bool

    @property
    def num_classes(self) -> tuple[int, ...]:
        """The number of classes of every output; empty for numbers."""
        return tuple(len(classes.names) for classes in self.outputs)

    def restore(self, model: Any, *, of_classes: bool) -> None:
        """Gives a model the attributes that follow from the table and the target.

        Args:
            model: An estimator, or a model that is served.
            of_classes: Whether it predicts classes.

        Raises:
            ModelFileError: It predicts classes, and the file has none, or the other way round.
        """
        model.encoder_ = self.encoder()
        names = model.encoder_.schema_.column_names
        model.n_features_in_ = len(names)
        if self.is_named:
            model.feature_names_in_ = np.array(names, object)
        model.other_columns_ = self.beside
        for name, number in (("max_features_", self.max_features), ("n_outputs_", self.num_outputs)):
            if number is not None:
                setattr(model, name, number)
        require(of_classes == bool(self.outputs), "it has classes and predicts none, or has none and predicts some")
        if not of_classes:
            model.is_vector_ = self.is_vector
            return
        classes = [classes.names for classes in self.outputs]
        model.classes_ = classes[0] if len(classes) == 1 else classes
        model.n_classes_ = len(classes[0]) if len(classes) == 1 else np.array([len(names) for names in classes])

    def encoder(self) -> Encoder:
        """The fitted encoder."""
        encoder = dataclasses.replace(self.options)
        encoder.schema_ = Schema(Columns.of(self.columns))
        return encoder


@dataclasses.dataclass(frozen=True, eq=False)
class TreeArrays:
    """The arrays of a `Tree` that files keep: of one tree, or of several one after the other."""

    feature: Int32[np.ndarray, " node"]
    code: Int32[np.ndarray, " node"]
    next_code: Int32[np.ndarray, " node"]
    threshold: Float64[np.ndarray, " node"]
    split_kind: Int32[np.ndarray, " node"]
    subset: UInt32[np.ndarray, "subset word"]
    subset_row: Int32[np.ndarray, " node"] | None
    missing_code: Int32[np.ndarray, " node"]
    missing_branch: Int32[np.ndarray, " node"]
    first_child: Int32[np.ndarray, " node"]
    num_children: Int32[np.ndarray, " node"]
    weight: Real[np.ndarray, " node"]
    count: Real[np.ndarray, "node class"]
    target_sum: Float64[np.ndarray, "node output"]
    num_rows: Int32[np.ndarray, " node"]
    impurity: Float64[np.ndarray, " node"]
    gain: Float64[np.ndarray, " node"]

    @classmethod
    def of(cls, tree: Tree) -> "TreeArrays":
        """The nodes of a tree, or of several, without padding."""
        names = {field.name for field in dataclasses.fields(cls)} - {"subset", "subset_row"}
        subset, row = tree.subset, None
        if isinstance(subset, SharedSubsets):
            used = subset.without_unused()
            subset, row = used.words, used.row
        return cls(
            subset=np.asarray(subset), subset_row=row, **{name: np.asarray(getattr(tree, name)) for name in names}
        )

    def forest(
        self, first_node: Int64[np.ndarray, " boundary"], schema: Schema, *, num_classes: tuple[int, ...]
    ) -> Forest:
        """Returns the trees, of which each begins at one of `first_node`.

        Raises:
            ModelFileError: They are not those of trees on such features.
        """
        parent, depth, root = node_links(self.first_child, self.num_children, first_node)
        _check_splits(self, schema)
        shared = self.subset_row is not None
        trees = Tree(
            **{name: values for name, values in vars(self).items() if not name.startswith("subset")},
            subset=SharedSubsets(self.subset_row, self.subset) if shared else self.subset,
            parent=parent,
            depth=depth,
            root=root,
            num_nodes=np.array(len(parent), np.int32),
            num_classes=num_classes,
            num_features=schema.num_features,
        )
        return Forest(trees, first_node)


NUMBERS_OF_KEY = {"threefry2x32": 2, "rbg": 4, "unsafe_rbg": 4}
"""How many numbers a random key of JAX has, by its kind."""


class RandomKey(NamedTuple):
    """A random key of JAX, on the host: models come by files and pickles to processes in which JAX cannot compute."""

    kind: Literal["threefry2x32", "rbg", "unsafe_rbg"]
    numbers: UInt32[np.ndarray, " number"]

    @classmethod
    def of(cls, key: Key[Array, ""]) -> "RandomKey":
        """Takes a key apart."""
        return cls(str(jax.random.key_impl(key)), np.asarray(jax.random.key_data(key)))  # pyright: ignore

    def key(self) -> Key[Array, ""]:
        """The key."""
        return jax.random.wrap_key_data(jnp.asarray(self.numbers), impl=self.kind)


@dataclasses.dataclass(frozen=True, eq=False)
class TreeState:
    """All that a tree learns in fit.

    Attributes:
        table: The columns and the target.
        nodes: The nodes of its tree.
        first_node: Where every tree begins, and the number of nodes at the end.
        votes: The prediction of every node where the pruning is a vote; else None.
        pruning: The `Pruning` that the tree was pruned by, or None.
        row_sums: The sums of the rows that a refit has counted; None where the nodes are those of the fit.
    """

    table: FittedTable
    nodes: TreeArrays
    first_node: Int64[np.ndarray, " boundary"]
    votes: Float64[np.ndarray, "node column"] | None
    pruning: Any
    row_sums: RowSums | None = dataclasses.field(default=None, kw_only=True)

    @classmethod
    def of(cls, table: FittedTable, model: FittedModel, pruning: Any, row_sums: RowSums | None = None) -> "TreeState":
        """Takes the kept part of a fitted model."""
        first_node = np.asarray(model.forest.first_node, np.int64)
        votes = model.node_value if model.is_vote else None
        return cls(table, TreeArrays.of(model.tree), first_node, votes, pruning, row_sums=row_sums)

    def forest(self, schema: Schema, *, votes: bool) -> Forest:
        """Returns the trees.

        Args:
            schema: The features that the trees split on.
            votes: Whether the pruning of the trees is a vote.

        Raises:
            ModelFileError: They are not those of trees on such features, or votes are missing, or needless.
        """
        nodes, num_classes = self.nodes, self.table.num_classes
        num_columns = nodes.count.shape[1], nodes.target_sum.shape[1]
        fits = self.table.num_outputs is not None and num_columns == (
            sum(num_classes),
            0 if num_classes else self.table.num_outputs,
        )
        require(fits and sum(num_columns), "its nodes do not have one weight a class, or one sum an output")
        require(self.pruning is None or is_pruning(self.pruning), "its pruning is none")
        require(votes == (self.votes is not None), "it has votes of prunings that do not vote, or lacks those that do")
        if self.row_sums is not None:
            self._check_row_sums(self.row_sums)
        if self.votes is not None:
            is_of_nodes = self.votes.shape == (len(nodes.feature), sum(num_columns))
            require(is_of_nodes, "its votes are not one number a node and class")
            require_finite(self, "votes")
        return nodes.forest(self.first_node, schema, num_classes=num_classes)

    def _check_row_sums(self, known: RowSums) -> None:
        """Raises ModelFileError if sums of rows are not those of the nodes and of their targets."""
        units = np.array([known.weight, known.target, known.moment])
        require((np.isfinite(units) & (units > 0)).all(), "its sums of rows have a unit that is none")
        has_centers = known.center.size == self.table.num_outputs and np.isfinite(known.center).all()
        require(has_centers, "its sums of rows do not have a center for every output")
        num_classes, num_outputs = sum(self.table.num_classes), self.nodes.target_sum.shape[1]
        shape = (num_classes or num_outputs + 2, len(self.nodes.feature))
        is_of_nodes = known.sums is None or known.sums.shape == shape
        require(is_of_nodes and (known.sums is not None or num_classes), "its sums of rows are not those of its nodes")


@dataclasses.dataclass(frozen=True, eq=False)
class ForestState(TreeState):
    """All that a forest learns in fit.

    Attributes:
        key: The key of the forest, from which follows what prunings draw.
        rows: A digest of the rows and draws of the trees, which a warm start compares; None where they differ.
        oob_score: The score of its out-of-bag rows, if it was asked for.
        oob_outputs: The predictions of these rows: an array of all outputs, or one each.
    """

    key: RandomKey
    rows: str | None
    oob_score: float | None
    oob_outputs: tuple[Float64[np.ndarray, "..."], ...]


def node_links(
    first_child: Int32[np.ndarray, " node"],
    num_children: Int32[np.ndarray, " node"],
    first_node: Int64[np.ndarray, " boundary"],
) -> tuple[Int32[np.ndarray, " node"], Int32[np.ndarray, " node"], Int32[np.ndarray, " node"]]:
    """Returns parents, depths and roots of the nodes of trees, of which each begins at one of `first_node`.

    Raises:
        ModelFileError: Some node that is no root has no parent before it, or several.
    """
    size, number = first_child.size, np.arange(first_child.size)
    is_boundary = first_node.size >= 2 and first_node[0] == 0 and first_node[-1] == size
    require(is_boundary and (np.diff(first_node) >= 1).all(), "first_node does not hold where trees begin")
    split = np.flatnonzero(num_children)
    first, children = first_child[split].astype(np.int64), num_children[split].astype(np.int64)
    end_of_tree = np.repeat(first_node[1:], np.diff(first_node))
    is_behind = (children > 0) & (first > split) & (first + children <= end_of_tree[split])
    require(is_behind.all(), "a node has children that are not behind it, or not in its tree")
    # As many as there are nodes but roots, so that this takes no more memory than they do.
    of_trees = children.sum() == size - (first_node.size - 1)
    child = np.repeat(first, children) + _numbered(children) if of_trees else number[:0]
    of_trees = of_trees and not np.isin(first_node[:-1], child).any() and np.unique(child).size == child.size
    require(of_trees, "its nodes are not those of trees: some have no parent, or several")
    parent = number.copy()
    parent[child] = np.repeat(split, children)
    above, depth = parent, (parent != number).astype(np.int64)
    while (above[above] != above).any():
        depth, above = depth + depth[above], above[above]
    return parent.astype(np.int32), depth.astype(np.int32), above.astype(np.int32)


def _numbered(lengths: Int64[np.ndarray, " group"]) -> Int64[np.ndarray, " member"]:
    """The numbers 0, 1, ... within groups of some lengths, one group after the other."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _check_splits(nodes: TreeArrays, schema: Schema) -> None:
    """Raises ModelFileError if a node asks for what no row has."""
    split = np.flatnonzero(nodes.num_children)
    feature, code, kind, children = (
        array[split] for array in (nodes.feature, nodes.code, nodes.split_kind, nodes.num_children)
    )
    is_feature = (nodes.feature < schema.num_features).all() and (feature >= 0).all()
    require(is_feature, f"a node asks for none of the {schema.num_features} features that there are")
    num_values = schema.num_values[feature]
    is_code = (code >= 0) & (code <= num_values) & (nodes.next_code[split] >= 0)
    require(is_code.all(), "a node asks for a code that its feature does not have")
    is_threshold, is_multiway, is_subset = (
        kind == one for one in (SplitKind.THRESHOLD, SplitKind.MULTIWAY, SplitKind.SUBSET)
    )
    is_kind = np.isin(kind, list(SplitKind)) & (is_threshold != schema.is_categorical[feature])
    require(is_kind.all(), "a node splits a feature in a way that is not for its kind")
    has_branches = (children >= np.where(is_multiway, 1, 2)) & (children <= np.where(is_multiway, num_values + 1, 2))
    require(has_branches.all(), "a node has more or fewer children than its split has branches")
    is_numeric = schema.columns.is_numeric
    threshold = nodes.threshold[split]
    is_of_codes = (threshold >= 0) & (threshold < num_values) | (threshold == np.inf)
    fits = is_of_codes | ~is_threshold | is_numeric[feature]
    require(fits.all(), "a node has a threshold that is none of the feature's categories")
    most = num_values[is_subset].max(initial=0)
    require(most <= CODES_PER_WORD * nodes.subset.shape[1], "a node has a subset that does not name all categories")


@check.register
def _(nodes: TreeArrays) -> None:
    require_finite(nodes, "weight", "count", "num_rows", "target_sum")
    for name in ("impurity", "gain"):
        values, of_classes = getattr(nodes, name), nodes.count.shape[1] > 0
        # Squares of targets from about 1e154 on are infinite.
        fits = np.isfinite(values) if of_classes else ~np.isnan(values)
        require(
            fits.all(),
            f"{name} has a value that is not finite" if of_classes else f"{name} has a value that is no number",
        )
    row = np.arange(len(nodes.feature)) if nodes.subset_row is None else nodes.subset_row
    is_row = len(row) == 0 or (row.min() >= 0 and row.max() < len(nodes.subset))
    require(is_row and (nodes.subset_row is not None or len(nodes.subset) == len(row)), "a node has a subset of none")
    for name in ("weight", "count", "num_rows", "missing_branch", "missing_code"):
        require((getattr(nodes, name) >= 0).all(), f"{name} has a value that is negative")
    require(not np.isnan(nodes.threshold).any(), "a node has a threshold that is no number")


@check.register
def _(encoder: Encoder) -> None:
    encoder.check_options()


@check.register
def _(key: RandomKey) -> None:
    require(key.numbers.shape == (NUMBERS_OF_KEY[key.kind],), "its random key is none")


@check.register
def _(classes: OutputClasses) -> None:
    names, order = classes
    is_distinct = names.size and len(set(names.tolist())) == names.size
    require(
        is_distinct and (names.dtype.kind != "f" or np.isfinite(names).all()), "its classes are not distinct values"
    )
    require((np.sort(order) == np.arange(order.size)).all(), "the order of its classes does not name each of them once")


@check.register
def _(bins: Bins) -> None:
    low, high, edges = bins.low, bins.high, bins.edges
    require(len(edges) == max(len(low) - 1, 0) and len(low) <= MAX_CODES, "a column has an impossible number of bins")
    in_order = (low <= high).all() and (high[:-1] <= edges).all() and (edges < low[1:]).all()
    require(in_order and (not bins.exact or (low == high).all()), "the bins of a column are not in ascending order")


@check.register
def _(scale: TimeScale) -> None:
    day, nanosecond = scale.origin
    require(scale.kind in KINDS, "a column has times of no kind")
    is_origin = abs(day) <= _MOST_DAYS and 0 <= nanosecond < NANOSECONDS
    require(is_origin and not (scale.kind == "duration" and any(scale.origin)), "a column has an impossible origin")


@check.register
def _(column: Column) -> None:
    categories, is_numeric = column.categories, column.kind == "numeric"
    fits = column.kind in _KINDS and is_numeric == (column.bins is not None) and (is_numeric or column.time is None)
    fits = fits and not (is_numeric and categories) and len(categories) <= MAX_CODES
    words = categories if column.rare_words is None else categories[:-1]
    fits = fits and all(map(_is_category, words)) and len(set(words)) == len(words)
    fits = fits and (column.kind != "boolean" or categories == (False, True))
    require(fits, f"column {column.name[:40]!r} has bins or categories that do not fit its kind")


@check.register
def _(rare: RareWords) -> None:
    fits = rare.number > 0 and rare.most_rows >= 0 and _is_category(rare.example)
    require(fits, "a column has rare words of an impossible number")


def _is_category(value: Any) -> bool:
    """Whether a value is a string, or a number of NumPy's that is not missing."""
    is_number = isinstance(value, float) and value == value
    return is_number or isinstance(value, str) or (isinstance(value, int) and abs(value) < 2**64)


@check.register
def _(table: FittedTable) -> None:
    names = tuple(column.name for column in table.columns)
    require(names, "it has no columns")
    is_named = table.is_named or names == default_names(len(names))
    require(is_named, "its columns have names, and are recorded as nameless")
    number = table.num_outputs
    # `None in range(...)` would compare it with every number.
    counts = number in (None, len(table.outputs)) if table.outputs else number is not None and 1 <= number < 2**31
    require(counts, "its number of outputs is not that of its classes, or none")
    require(
        table.num_outputs == 1 or not table.is_vector, "it predicts several numbers, and is kept as one of one number"
    )
