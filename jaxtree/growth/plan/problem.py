"""The arrays of a growth: those that stay the same through all levels, and those that change.

An *entry* is a row with a weight on its way down one tree. The *frontier* holds the nodes of the current level that may
still be split; a *slot* is the index of a node in it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32, UInt, UInt32

from jaxtree.arrays import AnyArray, OptionalArray, child_hash, mix
from jaxtree.errors import present
from jaxtree.growth.inputs.objective import ParentStats, Units

DONE = 2**31 - 1
"""The slot of an entry that has reached a leaf: past every node and place, and sorted after every other."""

DRAWS_OF_NODE, DRAWS_OF_LEVEL, DRAWS_OF_SCORES = 0x9E3779B9, 0x85157AF5, 0x2545F491
"""Numbers that tell apart what a seed draws."""


class FeatureContext(NamedTuple):
    """A feature's properties at all nodes; or arrays over features.

    Attributes:
        number: Its index in the codes.
        kind: A `SplitKind`.
        missing_code: The code that means missing.
        monotone: 1, 0 or -1: the direction of the value as the code rises; None if no feature is constrained.
        next_separable: For every code the first code far enough above to be separated; None if all are.
    """

    number: Int32[AnyArray, "*f"]
    kind: Int32[AnyArray, "*f"]
    missing_code: Int32[AnyArray, "*f"]
    monotone: OptionalArray
    next_separable: OptionalArray


class NodeContext(NamedTuple):
    """A node's properties for all its candidates; None where the rules do not need them.

    Attributes:
        stats: The node's sums and their risk.
        limits: The limits of its root, by their names.
        lower: The least value that a monotone branch may have.
        upper: The greatest value.
        seed: The seed of the node's random draws.
        open_sets: The sets of features that contain all above the node, a bit each.
        level_seed: The seed of what the nodes of its level draw together.
    """

    stats: ParentStats
    limits: dict[str, Array]
    lower: OptionalArray
    upper: OptionalArray
    seed: OptionalArray
    open_sets: OptionalArray
    level_seed: OptionalArray

    def feature_ranks(self, number: Int32[Array, "*feature"]) -> UInt32[Array, "*rank"]:
        """The ranks of features in the random order that the node's seed gives them, all different."""
        return child_hash(mix(present(self.seed) ^ jnp.uint32(DRAWS_OF_NODE)), number.astype(jnp.uint32))

    def level_ranks(self, number: UInt32[Array, "*feature"]) -> UInt32[Array, "*rank"]:
        """The ranks of features in the random order of the level, all different."""
        return child_hash(present(self.level_seed), number)


class GrowthConstants(NamedTuple):
    """The arrays that stay the same through all levels.

    Attributes:
        codes: Codes of every feature.
        features: Arrays over the features.
        num_codes: The number of codes of a feature; 0 for padding.
        in_average: Whether a feature counts for C4.5's average gain.
        lists: The features of every table plan, and those that are scanned.
        position: The number of every code; None if no threshold is drawn.
        sets: The sets that every feature belongs to, a bit each; None where features may meet on any path.
        limits: The limits of every root, by their names, see `root_limits.in_units`.
        parameters: The numbers of the objective of every root.
        units: Units of the sums.
    """

    codes: UInt[AnyArray, "feature row"]
    features: FeatureContext
    num_codes: Int32[AnyArray, " feature"]
    in_average: Bool[AnyArray, " feature"]
    lists: tuple[Int32[AnyArray, " listed"], ...]
    position: OptionalArray
    sets: OptionalArray
    limits: dict[str, AnyArray]
    parameters: Float[AnyArray, "root parameter"]
    units: Units

    def take_features(self, number: Int32[AnyArray, "*some"]) -> FeatureContext:
        """The features of the given numbers."""
        return jax.tree.map(lambda values: values[number], self.features)

    def is_there(self, number: Int32[AnyArray, "*some"]) -> Bool[AnyArray, "*some"]:
        """Whether the numbers are those of features, not of padding or past all."""
        return self.num_codes.at[number].get(mode="fill", fill_value=0) > 0


class Entries(NamedTuple):
    """Rows on their way down the trees; only the first `size` are used.

    Attributes:
        row: The row of every entry.
        label: Its class in every output; for numbers a hash of its targets, equal where these are equal.
        value: Its additions to sums: its weight, and for numbers the weighted targets and the moment.
        slot: The slot of its node.
        size: The number of entries.
    """

    row: Int32[AnyArray, " entry"]
    label: Int[AnyArray, "label entry"]
    value: Int[AnyArray, "value entry"]
    slot: Int32[AnyArray, " entry"]
    size: Int32[AnyArray, ""]


class Frontier(NamedTuple):
    """Nodes of the level that may be split: those of the first `size` slots."""

    node: Int32[Array, " slot"]
    size: Int32[Array, ""]


class Windows(NamedTuple):
    """The ranges of the entries of every slot, where entries are sorted by slot."""

    start: Int32[Array, " slot"]
    stop: Int32[Array, " slot"]
