"""The settings of a search: which there are, and the nodes that each collapses of a tree that serves several."""

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray
from sklearn.model_selection import ParameterGrid, ParameterSampler

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import Role, generator_of, identity, key_of, names_of
from jaxtree.estimators.common.growing import GrowthTask
from jaxtree.estimators.common.limits import limit_masks
from jaxtree.estimators.common.prunings import Pruning
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.prune.validation import HeldOut
from jaxtree.tree import Tree
from jaxtree.tree.paths import stop_at

Parameters = dict[str, Any]


def settings_of(space: Any, number: int | None, random_state: Any, name: str) -> list[Parameters]:
    """Returns the settings of a space.

    Args:
        space: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a list
            of one.
        number: How many settings are drawn; all of a grid if None.
        random_state: The seed of what is drawn.
        name: The name of the space in errors.

    Raises:
        InvalidInputError: There is no setting, or a distribution and no number.

    Example:
        >>> settings_of({"max_depth": [2, 3], "criterion": "gini"}, None, None, "param_grid")
        [{'criterion': 'gini', 'max_depth': 2}, {'criterion': 'gini', 'max_depth': 3}]
    """
    spaces = [space] if isinstance(space, dict) else space
    spaces = [{parameter: _listed(values) for parameter, values in own.items()} for own in spaces]
    drawn = [parameter for own in spaces for parameter, values in own.items() if hasattr(values, "rvs")]
    if number is None and drawn:
        raise InvalidInputError(
            f"{name} has a distribution of {drawn[0]!r}: n_iter must be the number of settings to draw, got None"
        )
    try:
        own = (
            ParameterGrid(spaces)
            if number is None
            else ParameterSampler(spaces, number, random_state=generator_of(random_state))
        )
        settings = list(own)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}: {error}") from error
    if not settings:
        raise InvalidInputError(f"{name} must have one setting or more, got {space!r}")
    return settings


def masks_of(
    settings: Sequence[BaseTree], tree: Tree, task: GrowthTask, held: HeldOut | None
) -> Bool[np.ndarray, "setting node"]:
    """Returns the nodes that every setting collapses of a tree that was grown with the loosest limits of all.

    Args:
        settings: The estimator with the parameters of every setting, as it begins to fit.
        tree: The tree.
        task: The rows that it was grown on, and how.
        held: The held-out rows of settings that prune with such.
    """
    masks = limit_masks(settings, tree, task)
    stages = [setting.list_prunings() for setting in settings]
    labels = settings[0].node_labels(tree)
    for stage in range(max(map(len, stages))):
        prunings = {i: own[stage] for i, own in enumerate(stages) if stage < len(own)}
        for members, pruning, key in _alike(settings, prunings, masks):
            stopped = stop_at(tree, masks[members[0]])
            masks[members] |= pruning.collapsed(stopped, key=key, held=held, label=labels)
    return masks


def votes_of(
    settings: Sequence[BaseTree], tree: Tree, masks: Bool[np.ndarray, "setting node"]
) -> dict[int, Float[np.ndarray, "node column"]]:
    """Returns the prediction at each node, by the number of every setting whose pruning is a vote."""
    prunings = {i: s.pruning for i, s in enumerate(settings) if s.pruning is not None and s.pruning.votes}
    own_votes, votes = settings[0].model_of(tree).node_votes(), {}
    for members, pruning, key in _alike(settings, prunings, masks):
        of_members = np.asarray(pruning.vote(stop_at(tree, masks[members[0]]), own_votes, key=key))
        votes.update(zip(members, np.broadcast_to(of_members, (len(members), *own_votes.shape)), strict=True))
    return votes


def _alike(
    settings: Sequence[BaseTree], prunings: dict[int, Pruning], masks: Bool[np.ndarray, "setting node"]
) -> Iterable[tuple[list[int], Pruning, PRNGKeyArray | None]]:
    """Settings that one call prunes: of the same tree so far, with prunings that differ in batched parameters alone."""
    groups: dict[Hashable, list[int]] = {}
    for number, pruning in prunings.items():
        batched = names_of(pruning, Role.BATCHED)
        fixed = tuple((name, identity(v)) for name, v in sorted(vars(pruning).items()) if name not in batched)
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
    for name in names_of(batch, Role.BATCHED) if len(prunings) > 1 else ():
        setattr(batch, name, np.array([getattr(pruning, name) for pruning in prunings]))
    return batch


def _listed(values: Any) -> Any:
    """A list of one for a single value."""
    if hasattr(values, "rvs") or isinstance(values, np.ndarray | range):
        return values
    is_several = isinstance(values, Sequence) and not isinstance(values, str)
    return values if is_several else [values]
