"""Devices that are not there, described by the compilers that wheels carry.

`pip install -e '.[aot]'` installs both: `libtpu` compiles for a TPU v5e, and JAX's plugin for CUDA for an H200. Neither
needs a device, a driver or a tool of its own; programs can be compiled and read, and never run.
"""

import functools
import importlib.util
import os
from typing import Any

import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh

TPU = "v5e:2x2"

H200 = """
gpu_device_info {
  name: "NVIDIA H200 141GB HBM3e"
  device_vendor: "NVIDIA Corporation"
  cuda_compute_capability { major: 9 }
  core_count: 132
  fpus_per_core: 128
  clock_rate_ghz: 1.98
  memory_bandwidth: 4800000000000
  device_memory_size: 151397597184
  l2_cache_size: 52428800
  shared_memory_per_core: 233472
  shared_memory_per_block: 49152
  shared_memory_per_block_optin: 232448
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  threads_per_warp: 32
  threads_per_core_limit: 2048
  threads_per_block_limit: 1024
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  device_address_bits: 64
  runtime_version: "12.8.0"
  driver_version: "12.8.0"
  dnn_version: "9.10.0"
}
platform_name: "CUDA"
device_description_str: "NVIDIA H200 141GB HBM3e"
"""
"""The GPU in the words of XLA's `GpuTargetConfigProto`."""

NAMES = {"tpu": "TPU v5e", "gpu": "H200"}
"""The devices of every platform."""

WHEELS = {"tpu": "libtpu", "gpu": "jax-cuda12-pjrt"}
"""The wheel that brings the compiler of every platform."""

_MODULES = {"tpu": "libtpu", "gpu": "jax_plugins.xla_cuda12"}

MOST_DEVICES = 4
"""Devices of a description: those of the smallest TPU v5e that is a mesh."""


class NoCompilerError(Exception):
    """The compiler for a platform is not installed, or does not fit the installed JAX."""


def mesh_of(platform: str, num_devices: int = 1) -> Mesh:
    """Returns a mesh of some described devices.

    Raises:
        NoCompilerError: There is no compiler for the platform.
    """
    return Mesh(np.array(_devices(platform)[:num_devices]), ("rows",))


@functools.cache
def _devices(platform: str) -> list[Any]:
    _check_installed(platform)
    try:
        return (_tpus() if platform == "tpu" else _gpus()).devices
    except (RuntimeError, ValueError, NotImplementedError) as error:
        raise NoCompilerError(
            f"{WHEELS[platform]} does not fit the installed JAX, or JAX_PLATFORMS is not cpu: {error}"
        ) from error


def _check_installed(platform: str) -> None:
    try:
        found = importlib.util.find_spec(_MODULES[platform])
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise NoCompilerError(f"{WHEELS[platform]} is not installed")


def _tpus() -> Any:
    # Libtpu would otherwise ask the network what machine this is, and refuse to be loaded by two processes.
    for name, value in {
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_ACCELERATOR_TYPE": "v5litepod-4",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    }.items():
        os.environ.setdefault(name, value)
    return topologies.get_topology_desc(platform="tpu", topology_name=TPU)


def _gpus() -> Any:
    shape = f"1x1x{MOST_DEVICES}"
    return topologies.get_topology_desc(platform="cuda", topology_name=shape, topology=shape, target_config=H200)
