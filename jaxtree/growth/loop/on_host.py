"""Growth for estimators, whose trees lie on the host: by the kernel in C++ alone where it can, without XLA.

A program is compiled for the shapes of a table, which takes longer than to grow a tree of a few thousand rows, and then
takes longer to start than a tree of a few hundred.
"""

import functools

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Key

from jaxtree.errors import InternalError
from jaxtree.growth.inputs.bundles import Data, Features, Limits, Rules, Sizes
from jaxtree.growth.loop.grow import Growth, grow_checked, grow_levels, root_seeds
from jaxtree.growth.loop.prepare import prepare
from jaxtree.kernels.choose import Engine
from jaxtree.tree import Tree


def grow_on_host(
    data: Data,
    features: Features | None,
    limits: Limits,
    rules: Rules,
    sizes: Sizes,
    *,
    key: Key[Array, "..."] | None = None,
) -> Growth:
    """Returns what `grow` does, in NumPy's arrays: the kernel in C++ grows the trees, and no program is compiled.

    The table has no room for further nodes. Codes past the table are an error here; a program brings them into it.
    """
    if data.codes.max() >= sizes.num_bins:
        raise InternalError(f"codes must be from 0 to {sizes.num_bins - 1}, got {data.codes.max()}")
    root_seed = np.asarray(root_seeds(key, sizes.num_roots))
    plan, prepared = prepare(data, features, limits, rules, sizes, root_seed, engine=Engine.HOST, mesh=None)
    return grow_levels(prepared, plan=plan, is_wide=True)


def grow_completely(
    data: Data,
    features: Features | None,
    limits: Limits,
    rules: Rules,
    sizes: Sizes,
    *,
    engine: Engine,
    key: Key[Array, "..."] | None = None,
    mesh: Mesh | None = None,
) -> Tree:
    """Returns the tree of `grow`, on the host; grows again, with more room, until it is enough.

    Bundles must be right: nothing is checked. `engine` is that of `native.engine_of` for trees on the host.
    """
    on_host = engine is Engine.HOST
    grow_once = grow_on_host if on_host else functools.partial(grow_checked, mesh=mesh)
    while True:
        tree, complete = grow_once(data, features, limits, rules, sizes, key=key)
        if complete:
            return tree if on_host else jax.tree.map(np.asarray, tree)
        room = sizes.entry_capacity
        sizes = sizes._replace(capacity=4 * sizes.capacity, entry_capacity=None if room is None else 2 * room)
