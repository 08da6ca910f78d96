"""The masks of many settings of an estimator on one grown tree."""

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray

from jaxtree.estimators.base import BaseTree, FitStart, key_of
from jaxtree.estimators.prunings import Pruning
from jaxtree.pruning.masks import stop_at
from jaxtree.pruning.stopping import max_depth, min_gain, min_impurity_decrease, min_samples_split
from jaxtree.pruning.validation import HeldOut
from jaxtree.search.settings import identity
from jaxtree.tree import Tree


def masks_of(
    settings: Sequence[BaseTree], tree: Tree, start: FitStart, held: HeldOut | None
) -> Bool[np.ndarray, "setting node"]:
    """Returns the nodes that every setting collapses of a tree that was grown with the loosest limits of all.

    Args:
        settings: The estimator with the parameters of every setting, as it begins to fit.
        tree: The tree.
        start: What it was grown on.
        held: The held-out rows of settings that prune with such.
    """
    masks = limit_masks(settings, tree, start)
    stages = [setting._prunings() for setting in settings]
    labels = settings[0]._labels(tree)
    for stage in range(max(map(len, stages))):
        prunings = {i: own[stage] for i, own in enumerate(stages) if stage < len(own)}
        for members, pruning, key in _alike(settings, prunings, masks):
            stopped = stop_at(tree, masks[members[0]])
            masks[members] |= pruning.collapsed(stopped, key=key, held=held, label=labels)
    return masks


def votes_of(
    settings: Sequence[BaseTree], tree: Tree, masks: Bool[np.ndarray, "setting node"]
) -> dict[int, Float[np.ndarray, "node column"]]:
    """Returns what is said of rows that end at each node, by the number of every setting whose pruning is a vote."""
    prunings = {i: s.pruning for i, s in enumerate(settings) if s.pruning is not None and s.pruning.votes}
    said, votes = settings[0]._say(tree), {}
    for members, pruning, key in _alike(settings, prunings, masks):
        said_by_all = np.asarray(pruning.vote(stop_at(tree, masks[members[0]]), said, key=key))
        votes.update(zip(members, np.broadcast_to(said_by_all, (len(members), *said.shape)), strict=True))
    return votes


def limit_masks(settings: Sequence[BaseTree], tree: Tree, start: FitStart) -> Bool[np.ndarray, "setting node"]:
    """Returns the inner nodes that growth with the limits of every setting would not have split."""
    encoded = start.encoded
    limits = [setting._limits(encoded.codes.shape[1], encoded.weight) for setting in settings]
    stops = np.zeros((len(settings), tree.node_count), bool)
    for name, mask_of in _LIMITS.items():
        least = np.array([getattr(limit, name) for limit in limits])
        # What growth has heeded is not asked again: it may have counted with some slack.
        if np.any(least != getattr(encoded.recipe.limits, name)):
            stops |= mask_of(tree, least, settings[0]._split_limit_counts)
    return stops & ~np.asarray(tree.is_leaf)


_LIMITS: dict[str, Callable[[Tree, Any, str], Bool[np.ndarray, "setting node"]]] = {
    "max_depth": lambda tree, limit, _: max_depth(tree, limit),
    "min_samples_split": lambda tree, limit, counts: min_samples_split(tree, limit, counts=counts),
    "min_gain": lambda tree, limit, _: min_gain(tree, limit),
    "min_impurity_decrease": lambda tree, limit, _: min_impurity_decrease(tree, limit),
}


def _alike(
    settings: Sequence[BaseTree], prunings: dict[int, Pruning], masks: Bool[np.ndarray, "setting node"]
) -> Iterable[tuple[list[int], Pruning, PRNGKeyArray | None]]:
    """Settings that one call prunes: of the same tree so far, with prunings that differ in batched parameters alone."""
    groups: dict[Hashable, list[int]] = {}
    for number, pruning in prunings.items():
        fixed = tuple((name, identity(v)) for name, v in sorted(vars(pruning).items()) if name not in pruning.batched)
        drawn = settings[number].random_state if pruning.draws_masks else None
        kind = (masks[number].tobytes(), type(pruning), fixed, drawn)
        groups.setdefault(kind, []).append(number)
    for members in groups.values():
        pruning = prunings[members[0]]
        key = key_of(settings[members[0]].random_state) if pruning.draws_masks else None
        yield members, _batched([prunings[number] for number in members]), key


def _batched(prunings: Sequence[Pruning]) -> Pruning:
    """One pruning with arrays of the parameters in which all differ."""
    batch: Any = copy.copy(prunings[0])
    for name in batch.batched if len(prunings) > 1 else ():
        setattr(batch, name, np.array([getattr(pruning, name) for pruning in prunings]))
    return batch
