"""Chooses who computes an operation that has two bodies, the kernel in C++ or XLA, and calls the kernel.

Both give the same bits, but for gradients of hard trees, which differ by rounding. A fit asks once, and carries the
answer where its programs find it, such as in a plan.

The functions of the kernel are handlers of XLA. With arrays of the host they are called by ctypes, see
`native/src/ffi/host_call.cc`: XLA would first compile a program for the shapes of the table, and take longer to start
it than a small table takes to grow a tree.
"""

import ctypes
import enum
import functools
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxtree.arrays import library_of
from jaxtree.cores import num_cores
from jaxtree.errors import InvalidInputError, present
from jaxtree.kernels import library
from jaxtree.lazy import jax, when_jax_is_loaded

HANDLERS = (
    "jaxtree_grow",
    "jaxtree_quantise",
    "jaxtree_sum_at_nodes",
    "jaxtree_sum",
    "jaxtree_are_within",
    "jaxtree_add_steps",
    "jaxtree_walk_codes",
    "jaxtree_predict_hard_tree",
    "jaxtree_differentiate_hard_tree",
)
"""The functions of the kernel that programs call. Each works for many models at once where it stands under `jax.vmap`.

Handlers that are called from the host alone need no name in XLA.
"""

TYPES = {
    np.dtype(name): number
    for name, number in {
        "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9,
        "float32": 11, "float64": 12,
    }.items()
}  # fmt: skip
"""The numbers of types in XLA's interface (`XLA_FFI_DataType` of xla/ffi/api/c_api.h)."""

MOST_AXES = 4
"""Axes of an array in a call on the host, see `HostArray` of host_call.cc."""

LARGE = 2**15
"""Elements: with no larger argument, a call stays on its thread, as to wait for others would take longer."""

MESSAGE_SIZE = 1024

Results = Sequence[tuple[tuple[int, ...], Any]]
"""The shape and type of every result."""


class Engine(enum.Enum):
    """Who computes.

    HOST: The kernel, from NumPy's arrays, for which no program is compiled.
    PROGRAM: The kernel, called by a program of XLA.
    XLA: XLA, or NumPy where an operation has a body of its own there.
    """

    HOST = "host"
    PROGRAM = "program"
    XLA = "xla"


def choose(platform: str, *, num_devices: int = 1, knows: bool = True, on_host: bool = True) -> Engine:
    """Returns who computes an operation.

    Args:
        platform: The platform that JAX computes on, such as "cpu".
        num_devices: The devices that rows are divided among.
        knows: Whether the kernel has the operation as it is wanted, such as the criterion of a growth.
        on_host: Whether it may be computed from arrays of the host, with the bits of a program.

    Example:
        >>> choose("tpu").name
        'XLA'
    """
    if platform != "cpu" or num_devices > 1 or not knows or not is_there():
        return Engine.XLA
    return Engine.HOST if on_host else Engine.PROGRAM


class Engines(NamedTuple):
    """Who computes a fit, of which some operations stay on the host.

    Attributes:
        of_host: Who computes what the host does with any platform.
        platform: The platform of all else.
    """

    of_host: Engine
    platform: str

    @classmethod
    def of(cls, platform: str) -> "Engines":
        """Returns who computes a fit on a platform."""
        return cls(choose("cpu"), platform)

    @property
    def of_device(self) -> Engine:
        """Who computes what a device may do."""
        return self.of_host if self.platform == "cpu" else Engine.XLA


@functools.cache
def is_there() -> bool:
    """Whether the kernel is there, see `library.load`; the first call registers it with XLA, once JAX is loaded."""
    kernel = library.load()
    if kernel is None:
        return False
    when_jax_is_loaded(lambda: _register(kernel))
    return True


def _register(kernel: ctypes.CDLL) -> None:
    for handler in HANDLERS:
        jax.ffi.register_ffi_target(handler, jax.ffi.pycapsule(getattr(kernel, handler)), platform="cpu")


class Attributes:
    """The numbers of a call that are no arrays of it, by name; made once for many calls.

    Args:
        values: Whole numbers, truth values and arrays of them, of the types that the handler reads.
    """

    def __init__(self, values: Mapping[str, Any]):
        self.values = dict(values)
        self.number = len(self.values)
        self._arrays = [(name.encode(), np.asarray(value)) for name, value in sorted(self.values.items())]
        described = []
        self._names = [ctypes.create_string_buffer(name) for name, _ in self._arrays]
        for name, (_, value) in zip(self._names, self._arrays, strict=True):
            size = -1 if value.ndim == 0 else value.size
            described += [ctypes.addressof(name), TYPES[value.dtype], size, value.ctypes.data]
        self.described = struct.pack(f"{len(described)}q", *described)


def call_kernel(
    handler: str, results: Results, arrays: Sequence[Any], attributes: Attributes, *, num_threads: int | None = None
) -> list[Any]:
    """Calls a function of the kernel.

    Args:
        handler: Its name.
        results: The shapes and types of what it returns.
        arrays: Its arguments: on the host if all are NumPy's.
        attributes: Its further numbers.
        num_threads: The threads of a call on the host; if not given, as many as there are cores where an argument is
            large, and one where none is.

    Returns:
        The results, in the library of the arguments.

    Raises:
        InvalidInputError: The kernel refuses the arguments.
        MemoryError: There is not enough memory.
    """
    if library_of(*arrays) is not np:
        shapes = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results]
        return list(jax.ffi.ffi_call(handler, shapes, vmap_method="expand_dims")(*arrays, **attributes.values))
    # `ascontiguousarray` copies no array at an odd address.
    arguments = [np.ascontiguousarray(array) if array.flags.aligned else array.copy() for array in arrays]
    made = [np.empty(shape, dtype) for shape, dtype in results]
    call, function = _find(handler)
    message = ctypes.create_string_buffer(MESSAGE_SIZE)
    given, returned = _describe(arguments), _describe(made)
    if num_threads is None:
        num_threads = num_cores() if max(array.size for array in arguments) > LARGE else 1
    status = call(
        function, given, len(arguments), returned, len(made), attributes.described, attributes.number, num_threads,
        message, MESSAGE_SIZE,
    )  # fmt: skip
    if status:
        raise (InvalidInputError if status == 1 else MemoryError)(message.value.decode(errors="replace"))
    return made


def _describe(arrays: Sequence[np.ndarray]) -> bytes:
    """Returns where arrays are, and their types and shapes, as the kernel reads them."""
    numbers: list[int] = []
    for array in arrays:
        rank = array.ndim
        numbers += (_address(array), TYPES[array.dtype], rank, *array.shape, *(0,) * (MOST_AXES - rank))
    return struct.pack(f"{len(numbers)}q", *numbers)


def _address(array: Any) -> int:
    """Returns where an array is, in a third of a microsecond; one that may not be written takes longer."""
    if array.size and array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return array.ctypes.data


@functools.cache
def _find(handler: str) -> tuple[Any, ctypes.c_void_p]:
    """Returns the function that calls a handler, with the types of its arguments, and the handler."""
    kernel = present(library.load())
    call, whole, pointer = kernel.jaxtree_call_on_host, ctypes.c_int64, ctypes.c_void_p
    described = (ctypes.c_char_p, whole)
    call.argtypes = [pointer, *described, *described, *described, whole, pointer, whole]
    call.restype = ctypes.c_int32
    return call, ctypes.cast(getattr(kernel, handler), pointer)
