"""A CPU of the process in place of an accelerator."""

import contextlib

import jax

from jaxtree.devices.current import standing_in


@contextlib.contextmanager
def stand_in(platform):
    """Another CPU of the process in place of an accelerator, which is JAX's default device then."""
    with standing_in(jax.devices()[1], platform):
        yield jax.devices()[1]
