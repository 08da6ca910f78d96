"""A CPU of the process in place of an accelerator."""

import contextlib

import jax

from jaxtree.devices.current import STAND_INS, given_device


@contextlib.contextmanager
def standing_in(device, platform):
    """Lets a device stand for JAX's first one of another platform, which then is the default.

    Programs get the plan and the costs of that platform, and no kernel in C++.
    """
    before = given_device()
    STAND_INS[device] = platform
    jax.config.update("jax_default_device", device)
    try:
        yield
    finally:
        jax.config.update("jax_default_device", before)
        del STAND_INS[device]


@contextlib.contextmanager
def stand_in(platform):
    """Another CPU of the process in place of an accelerator, which is JAX's default device then."""
    with standing_in(jax.devices()[1], platform):
        yield jax.devices()[1]
