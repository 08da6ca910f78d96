"""One growth for settings that differ in limits and prunings: it has the loosest limits, and others are masks of it."""

import copy
import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from jaxtree.estimators.common.conventions import GrowthLimit, Role, identity, limits_of, names_of
from jaxtree.estimators.common.growing import GrowthTask
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.prune.stopping import max_depth, min_gain, min_impurity_decrease, min_samples_split
from jaxtree.tree import Tree


def kind_of_growth(setting: Any) -> Hashable:
    """Returns a key that settings of a tree or forest have in common whose trees are parts of one."""
    masking = names_of(setting, GrowthLimit, Role.PRUNES, Role.PATH, Role.REPORTS)
    fraction = setting.held_out_share()
    if fraction is None and not setting.draws_growth():
        masking |= names_of(setting, Role.SEED)
    names = (name for name in _names_of_parameters(type(setting)) if name not in masking)
    return fraction, tuple((name, identity(getattr(setting, name))) for name in names)


@functools.cache
def _names_of_parameters(kind: Any) -> list[str]:
    """The parameters of a class, which scikit-learn reads from its signature each time."""
    return kind._get_param_names()


def loosest(settings: Sequence[Any]) -> Any:
    """Returns a setting with the loosest limits of several: the tree of each is a pruned version of its tree."""
    loose = copy.copy(settings[0])
    for name, loosest_of in limits_of(loose).items():
        setattr(loose, name, loosest_of([getattr(setting, name) for setting in settings]))
    return loose


def limit_masks(settings: Sequence[Any], tree: Tree, task: GrowthTask) -> Bool[np.ndarray, "setting node"]:
    """Returns the inner nodes that growth with the limits of every setting would not have split."""
    limits = [setting.growth_limits(task.data) for setting in settings]
    return masks_of_limits(limits, tree, task.recipe.limits, settings[0].split_limit_counts)


def masks_of_limits(
    limits: Sequence[Limits], tree: Tree, kept: Limits, split_limit_counts: str
) -> Bool[np.ndarray, "setting node"]:
    """Returns the inner nodes that growth with each of some limits would not have split.

    Args:
        limits: The limits.
        tree: A tree that was grown with looser ones, or several in one table.
        kept: The limits that it was grown with.
        split_limit_counts: The unit of `min_samples_split`: "rows" or "weight".
    """
    stops = np.zeros((len(limits), tree.node_count), bool)
    for name, mask_of in _LIMITS.items():
        least = np.array([getattr(limit, name) for limit in limits])
        # A limit that growth has kept is not checked again: growth may have counted with some slack.
        if np.any(least != getattr(kept, name)):
            stops |= mask_of(tree, least, split_limit_counts)
    return stops & ~np.asarray(tree.is_leaf)


_LIMITS: dict[str, Callable[[Tree, Any, str], Bool[np.ndarray, "setting node"]]] = {
    "max_depth": lambda tree, limit, _: max_depth(tree, limit),
    "min_samples_split": lambda tree, limit, counts: min_samples_split(tree, limit, counts=counts),
    "min_gain": lambda tree, limit, _: min_gain(tree, limit),
    "min_impurity_decrease": lambda tree, limit, _: min_impurity_decrease(tree, limit),
}
