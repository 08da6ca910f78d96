"""What stays the same through all levels of a growth."""

from typing import NamedTuple

import jax
from jaxtyping import Array, Bool, Float, Int, Int32, UInt

from jaxtree.growth.candidates import Feature
from jaxtree.growth.measure import Units
from jaxtree.growth.nodes import LeafLimits


class SplitLimits(NamedTuple):
    """Limits of every root that a node and its best split are held to.

    Attributes:
        max_depth: The depth at which every node is a leaf.
        least_weight: The least weight of a node that is split, in units.
        least_rows: The least number of its rows, where rows are counted.
        min_gain: The least gain.
        min_impurity_decrease: The least gain times the node's share of its tree's weight.
        max_features: How many features a node looks at.
    """

    max_depth: Int32[Array, " root"]
    least_weight: Int[Array, " root"]
    least_rows: Int32[Array, " root"]
    min_gain: Float[Array, " root"]
    min_impurity_decrease: Float[Array, " root"]
    max_features: Int32[Array, " root"]


class Scene(NamedTuple):
    """What stays the same through all levels.

    Attributes:
        codes: Codes of every feature.
        features: Arrays over the features.
        num_codes: How many codes a feature has; 0 for padding.
        in_average: Whether a feature counts for C4.5's average gain.
        lists: The features that every table plan serves, and those that are scanned.
        split_limits: Limits of nodes.
        leaf_limits: Limits of branches.
        units: Units of the sums.
    """

    codes: UInt[Array, "feature row"]
    features: Feature
    num_codes: Int32[Array, " feature"]
    in_average: Bool[Array, " feature"]
    lists: tuple[Int32[Array, " listed"], ...]
    split_limits: SplitLimits
    leaf_limits: LeafLimits
    units: Units


def take_features(features: Feature, number: Int32[Array, "*some"]) -> Feature:
    """The features of the given numbers."""
    return jax.tree.map(lambda values: values[number], features)
