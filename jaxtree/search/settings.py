"""The settings of a search: which there are, which one growth serves, and the nodes that each collapses of its tree."""

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid, ParameterSampler

from jaxtree.errors import InvalidInputError, JaxtreeError
from jaxtree.estimators.common.conventions import (
    GrowthLimit,
    Role,
    check_parameters,
    generator_of,
    key_of,
    limits_of,
    names_of,
)
from jaxtree.estimators.common.growing import GrowthTask
from jaxtree.estimators.common.prunings import Pruning
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.prune.stopping import max_depth, min_gain, min_impurity_decrease, min_samples_split
from jaxtree.prune.validation import HeldOut
from jaxtree.tree import Tree
from jaxtree.tree.paths import stop_at

Parameters = dict[str, Any]
Configurable = TypeVar("Configurable", bound=BaseEstimator)
Grown = TypeVar("Grown", BaseTree, BaseForest)


def settings_of(space: Any, number: int | None, random_state: Any, name: str) -> list[Parameters]:
    """Returns the settings of a space.

    Args:
        space: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a list
            of one.
        number: How many settings are drawn; all of a grid if None.
        random_state: The seed of what is drawn.
        name: What the space is called in errors.

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


def configured(owner: Configurable, parameters: Parameters) -> Configurable:
    """Returns a copy of an estimator, or pruning, with other parameters.

    As `clone(owner).set_params(**parameters)`, but quickly: what does not change is shared, and so is what is fitted.

    Raises:
        ValueError: A name is none of a parameter.
    """
    copied, nested = copy.copy(owner), {}
    for name, value in parameters.items():
        own, _, below = name.partition("__")
        if own not in vars(owner):
            owner.set_params(**{name: value})
        elif below:
            nested.setdefault(own, {})[below] = value
        else:
            setattr(copied, own, value)
    for own, changes in nested.items():
        part = getattr(copied, own)
        if not isinstance(part, BaseEstimator):
            raise InvalidInputError(
                f"{own}={part!r} has no parameters, and {', '.join(map(repr, changes))} are to be set"
            )
        setattr(copied, own, configured(part, changes))
    return copied


def group_by_growth(estimator: BaseTree | BaseForest, candidates: Sequence[Parameters]) -> list[list[int]]:
    """Returns the numbers of the candidates that one growth serves, group by group.

    A candidate whose parameters are not allowed stands alone.
    """
    groups: dict[Hashable, list[int]] = {}
    checked: dict[Hashable, bool] = {}
    names = {name for parameters in candidates for name in parameters}
    for number, parameters in enumerate(candidates):
        setting = configured(estimator, parameters)
        kind = _growth_of(setting, names) if _is_allowed(setting, parameters, checked) else number
        groups.setdefault(kind, []).append(number)
    return list(groups.values())


def group_by_tree(estimator: BaseTree, candidates: Sequence[Parameters], group: Sequence[int]) -> list[list[int]]:
    """Returns the numbers of a group's candidates tree by tree: one search finds the trees of a group."""
    trees: dict[Hashable, list[int]] = {}
    for number in group:
        setting = configured(estimator, candidates[number])
        own = tuple(identity(getattr(setting, name)) for name in sorted(names_of(estimator, Role.PATH)))
        trees.setdefault(own, []).append(number)
    return list(trees.values())


def loosest(estimator: Grown, candidates: Sequence[Parameters]) -> Grown:
    """Returns the estimator with the loosest limits: every candidate's tree is a pruned version of its tree."""
    settings = [configured(estimator, parameters) for parameters in candidates]
    loose = copy.copy(settings[0])
    for name, loosest_of in limits_of(estimator).items():
        setattr(loose, name, loosest_of([getattr(setting, name) for setting in settings]))
    return loose


def identity(value: Any) -> Hashable:
    """Returns a key that equal values share: of a pruning its parameters, of incomparable values the object."""
    if isinstance(value, Pruning):
        return type(value), tuple((name, identity(own)) for name, own in sorted(vars(value).items()))
    return (type(value), value) if isinstance(value, str | int | float | bool | np.generic | None) else id(value)


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


def limit_masks(settings: Sequence[BaseTree], tree: Tree, task: GrowthTask) -> Bool[np.ndarray, "setting node"]:
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
        split_limit_counts: What `min_samples_split` counts: "rows" or "weight".
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


def _growth_of(setting: BaseTree | BaseForest, names: set[str]) -> Hashable:
    """Returns a key that settings have in common whose trees are parts of one.

    Args:
        setting: The setting.
        names: The parameters that any setting changes.
    """
    masking = names_of(setting, GrowthLimit, Role.PRUNES, Role.PATH, Role.REPORTS)
    if not setting.draws_growth():
        masking |= names_of(setting, Role.SEED)
    growing = {name for name in names if name.split("__")[0] not in masking}
    fraction = setting.held_out_share()
    if fraction is not None:
        growing.add("random_state")
    return fraction, tuple((name, identity(getattr(setting, name))) for name in sorted(growing))


def _is_allowed(setting: BaseTree | BaseForest, parameters: Parameters, checked: dict[Hashable, bool]) -> bool:
    """Whether the parameters are allowed; every value is looked at once."""
    for name in dict.fromkeys(name.split("__")[0] for name in parameters):
        value = getattr(setting, name)
        kind = (name, identity(value))
        if kind not in checked:
            checked[kind] = _passes(setting, name)
        if not checked[kind]:
            return False
    return True


def _passes(setting: BaseTree | BaseForest, name: str) -> bool:
    try:
        check_parameters(setting, [name])
        if name == "pruning" and setting.pruning is not None:
            setting.pruning.check()
    except JaxtreeError:
        return False
    return True


def _listed(values: Any) -> Any:
    """A list of one for a single value."""
    if hasattr(values, "rvs") or isinstance(values, np.ndarray | range):
        return values
    is_several = isinstance(values, Sequence) and not isinstance(values, str)
    return values if is_several else [values]
