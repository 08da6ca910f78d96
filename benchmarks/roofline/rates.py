"""The public rates of devices, with their sources, in one table; and the figures that are no more than guesses.

A rate has three values: the *best* that is published, the one that is *likely* to be reached, and the *worst* that
would not surprise. Best values are those of makers. What part of them programs reach is a guess, the same for all
devices, and said as such on the page.
"""

from typing import NamedTuple


class Range(NamedTuple):
    """A figure: the best, the likely and the worst value."""

    best: float
    likely: float
    worst: float

    def per(self, rate: float) -> "Range":
        """The seconds of a thing at parts of a rate."""
        return Range(*(1 / (part * rate) for part in self))


class Device(NamedTuple):
    """A device, as its maker describes it.

    Attributes:
        name: Its name.
        size: Bytes of its memory.
        memory: Bytes a second of its memory.
        cache: Bytes of its last cache.
        cache_rate: Bytes a second of that cache.
        processors: Streaming multiprocessors.
        clock: Cycles a second, at most.
        f64: Operations of float64 that a processor begins in a cycle; `f32` and `i32` alike.
        bf16: Operations a second of products of bfloat16 (on a T4 of float16); those of float32 are no faster than
            `f32` says.
        bus: Bytes a second from the host's memory, in one direction.
        sources: Where this stands.
    """

    name: str
    size: float
    memory: float
    cache: float
    cache_rate: float
    processors: int
    clock: float
    f64: int
    f32: int
    i32: int
    bf16: float
    bus: float
    sources: str


GUIDE = "CUDA C++ Programming Guide, table of arithmetic throughput"

NVIDIA = {
    "H100": Device(
        "H100 SXM", 80e9, 3.35e12, 50e6, 5120 * 1.755e9, 132, 1.98e9, 64, 128, 64, 989e12, 64e9,
        f"NVIDIA H100 data sheet; cache: arithmetic of doi:10.1016/j.ultsonch.2023.106546, table 3; {GUIDE}, 9.0",
    ),
    "H200": Device(
        "H200 SXM", 141e9, 4.8e12, 50e6, 5120 * 1.755e9, 132, 1.98e9, 64, 128, 64, 989e12, 64e9,
        f"NVIDIA H200 data sheet; cache as H100; {GUIDE}, 9.0",
    ),
    "A100": Device(
        "A100 SXM 80 GB", 80e9, 2.039e12, 40e6, 5120 * 1.41e9, 108, 1.41e9, 32, 64, 64, 312e12, 32e9,
        f"NVIDIA A100 data sheet; NVIDIA A100 Tensor Core GPU Architecture (5,120 bytes a cycle); {GUIDE}, 8.0",
    ),
    "T4": Device(
        "T4", 16e9, 320e9, 4e6, 1.27e12, 40, 1.59e9, 2, 64, 64, 65e12, 16e9,
        f"NVIDIA T4 data sheet; cache: Jia et al., arXiv:1903.07486; {GUIDE}, 7.5",
    ),
    "L4": Device(
        "L4", 24e9, 300e9, 48e6, 58 * 64 * 2.04e9, 58, 2.04e9, 2, 128, 64, 121e12, 32e9,
        f"NVIDIA L4 data sheet; cache: 64 bytes a cycle and processor, a guess; {GUIDE}, 8.9",
    ),
}  # fmt: skip
"""NVIDIA's devices. The H200's program is taken for all of them."""

V5E = "v5e"
V5E_CLOCK = 197e12 / (4 * 128 * 128 * 2)
"""Cycles a second of a TPU v5e: 197 * 10**12 operations of four units of 128 x 128 (Google Cloud, "TPU v5e")."""

V5E_SIZE, V5E_MEMORY = 16e9, 819e9
"""Bytes of its memory, and bytes a second, from the same page."""

LAUNCH = Range(2.0e-6, 3.8e-6, 9.6e-6)
"""Seconds of a short kernel, started one after another. Likely: A. Gray, "Getting Started with CUDA Graphs" (NVIDIA
Technical Blog, 2019): 3.8 us a kernel that takes 2.9 us itself; worst: 9.6 us there where the host waits for each.
Best: a guess for today's devices."""

READ = Range(6.7e-6, 10e-6, 30e-6)
"""Seconds that the host takes to read a condition and to go on. Best: 9.6 - 2.9 us, from the same page; the others are
guesses."""

PART_OF_MEMORY = Range(1.0, 0.8, 0.4)
PART_OF_ARITHMETIC = Range(1.0, 0.5, 0.15)
PART_OF_PRODUCTS = Range(1.0, 0.3, 0.05)
PART_OF_BUS = Range(1.0, 0.5, 0.15)
"""Parts of the maker's rates that programs reach; guesses."""

PART_OF_CYCLES = Range(2.0, 1.0, 1 / 3)
"""How many times as fast a TPU is as its compiler's estimates of cycles say; a guess."""

CYCLES_OF_LOOKUP = Range(2.0, 10.0, 20.0)
CYCLES_OF_ADDITION = Range(2.0, 8.0, 16.0)
"""Cycles of a TPU for an element that is looked up or added one by one, where its compiler estimates none. Likely:
about the 8 cycles of 0.67 ns that it estimates for scattered elements elsewhere; the others are guesses."""

BYTES_OF_ADDITION = 64
"""An addition to a cell reads and writes a sector of 32 bytes (CUDA C++ Programming Guide); no rate is published."""

SHARED_BANKS = 32
"""Additions that a processor makes in its own memory in a cycle, at most: one a bank (CUDA C++ Programming Guide)."""

PART_OF_SHARED = Range(1.0, 0.4, 0.1)
"""What threads reach of them that meet in a bank or a cell; a guess."""
