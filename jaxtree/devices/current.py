"""The device that JAX computes on: that of a mesh, of arrays, of `jax.default_device`, or else JAX's first.

`jax.default_backend()` says neither what a context has chosen nor where arrays lie, so that no other room asks it.
"""

from typing import Any

from jaxtree import forks
from jaxtree.arrays import Device
from jaxtree.lazy import Array, Mesh, Tracer, jax

STAND_INS: dict[Device, str] = {}
"""Devices that stand for those of another platform, with its name, in tests alone; programs get its plan and costs."""


def default_device() -> Device:
    """Returns the device that JAX makes new arrays on in this thread."""
    chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    # A platform may stand there by its name.
    return chosen if isinstance(chosen, jax.Device) else jax.local_devices(backend=chosen)[0]


def given_device() -> Any:
    """Returns the device, or the name of a platform, that `jax.default_device` or its option says in this thread."""
    return jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]


def kind_of(device: Device) -> str:
    """Returns the platform of a device: "cpu", "gpu" or "tpu"."""
    return STAND_INS.get(device) or str(device.platform)


def current_platform() -> str:
    """Returns the platform that JAX computes on in this thread; in a process without JAX, or cut off from it, "cpu"."""
    return "cpu" if forks.is_on_host() else kind_of(default_device())


def platform_of(*arrays: Any, mesh: Mesh | None = None) -> str:
    """Returns the platform on which a program of some arrays runs.

    Args:
        arrays: Arrays, of which those of NumPy and traced ones say nothing.
        mesh: The devices that it is divided among.

    >>> import numpy as np
    >>> platform_of(np.zeros(3), jax.numpy.zeros(3)) == current_platform()
    True
    """
    device = device_of(*arrays, mesh=mesh)
    return current_platform() if device is None else kind_of(device)


def device_of(*arrays: Any, mesh: Mesh | None = None) -> Device | None:
    """Returns a device of a mesh, or else of the first array that lies on one; None if nothing says where."""
    if mesh is not None:
        local = mesh.local_devices
        return local[0] if local else mesh.devices.flat[0]
    for array in arrays:
        if isinstance(array, Array) and not isinstance(array, Tracer):
            return min(array.devices(), key=lambda device: device.id)
    return None


def is_given() -> bool:
    """Returns whether `jax.default_device` says where to compute, and not a stand-in of tests."""
    given = given_device()
    return given is not None and given not in STAND_INS


def devices_of_kind(platform: str) -> list[Device]:
    """Returns the devices of a platform in this process; none if there are none."""
    standing = [device for device, kind in STAND_INS.items() if kind == platform]
    if standing:
        return standing
    try:
        return [device for device in jax.local_devices(backend=platform) if device not in STAND_INS]
    except RuntimeError:
        return []
