"""The start of a forest: seeds of its trees' prunings, and devices and threads, which change no tree."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int, PRNGKeyArray

from jaxtree.arrays import Device
from jaxtree.compilation import compiled
from jaxtree.cores import num_cores
from jaxtree.dataset.collectives import spans_processes
from jaxtree.devices import current_platform
from jaxtree.errors import InvalidInputError


def devices_of_trees(mesh: Mesh | None) -> tuple[Device, ...]:
    """Returns the devices that trees are divided among; none without a mesh.

    Raises:
        InvalidInputError: The mesh is none that growth can use, or has devices of other processes.
        InvalidTypeError: It is no mesh.
    """
    if mesh is None:
        return ()
    if spans_processes(mesh):
        raise InvalidInputError(
            "a forest is grown by one process, whose mesh has its own devices only, such as jax.local_devices(); a "
            "single tree may grow over several processes"
        )
    return tuple(mesh.devices.flat)


def number_of_threads() -> int:
    """Returns how many batches grow at the same time: one a core, and one on an accelerator."""
    return num_cores() if current_platform() == "cpu" else 1


def pruning_seeds(key: PRNGKeyArray, first_tree: int, num_trees: int) -> Int[np.ndarray, " tree"]:
    """Returns a seed for every tree, which follows from its number."""
    number = np.arange(first_tree, first_tree + num_trees, dtype=np.uint32)
    return np.asarray(_bits(key, number)).astype(np.int64) >> 1


@compiled()
def _bits(key, number):
    return jax.vmap(lambda n: jax.random.bits(jax.random.fold_in(key, n), (), jnp.uint32))(number)
