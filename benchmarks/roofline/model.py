"""The time of a workload on a device: a sum of terms, each an amount of work times the seconds of one.

No two terms overlap in the sum, so that it is too high where a device does several things at once; each term lacks what
is not in the program, so that it is too low where Python or the driver is slow.
"""

from typing import NamedTuple

from benchmarks.roofline.counts import Counts
from benchmarks.roofline.rates import (
    BYTES_OF_ADDITION,
    CYCLES_OF_ADDITION,
    CYCLES_OF_LOOKUP,
    LAUNCH,
    NVIDIA,
    PART_OF_ARITHMETIC,
    PART_OF_BUS,
    PART_OF_CYCLES,
    PART_OF_MEMORY,
    PART_OF_PRODUCTS,
    PART_OF_SHARED,
    READ,
    SHARED_BANKS,
    V5E_CLOCK,
    V5E_MEMORY,
    V5E_SIZE,
    Device,
    Range,
)
from benchmarks.roofline.work import SECTOR

BYTES_OF_NUMBER = 4
"""Bytes that a lookup reads at least."""

ESTIMATED = "cycles estimated"

FALSE_ABOVE = 2.0
"""A time of more than twice the likely one, or of less than half of it, says that the prediction is false."""


class Term(NamedTuple):
    """A term.

    Attributes:
        name: What takes the time.
        amount: How much of it there is.
        unit: What is counted.
        seconds: The time.
    """

    name: str
    amount: float
    unit: str
    seconds: Range


class Prediction(NamedTuple):
    """A prediction.

    Attributes:
        terms: The terms of the time, each.
        transfer: The seconds that its arguments take from the host, apart; None where the bus is not published.
        compile_seconds: Seconds of a core for the compilation, apart.
        fits: Whether arguments and temporary memory fit into the device's.
    """

    terms: list[Term]
    transfer: Range | None
    compile_seconds: float
    fits: bool

    @property
    def seconds(self) -> Range:
        """The sum of all terms."""
        return Range(*(sum(values) for values in zip(*(term.seconds for term in self.terms), strict=True)))

    @property
    def largest(self) -> Term:
        """The term that takes the most time."""
        return max(self.terms, key=lambda term: term.seconds.likely)


def predict_gpu(counts: Counts, device: Device, *, calls: int, reads_in_order: bool) -> Prediction:
    """Predicts a workload on one of NVIDIA's devices.

    Args:
        counts: The counts of a call.
        device: The device.
        calls: How often the program is called.
        reads_in_order: Whether codes are looked up in the order of the rows, see `Workload`.
    """
    total = counts.total
    memory = PART_OF_MEMORY.per(device.memory)
    at_a_time = device.processors * device.clock
    arithmetic = {
        unit: PART_OF_ARITHMETIC.per(at_a_time * rate)
        for unit, rate in (("f64", device.f64), ("f32", device.f32), ("i32", device.i32), ("i64", device.i32 / 2))
    }
    codes = total["scattered codes"]
    looked_up = total["scattered"] + (0 if reads_in_order else codes)
    lookup = Range(BYTES_OF_NUMBER * memory.best, SECTOR * memory.likely, SECTOR * memory.worst)
    # In the worst case neighbouring threads look up codes of different sectors after all.
    apart = SECTOR * memory.worst * codes / total["bytes"] if reads_in_order else 0.0
    in_memory = memory._replace(worst=memory.worst + apart)
    additions = total["additions"] + total["wide additions"]
    products = PART_OF_PRODUCTS.per(device.bf16)
    f32_products = PART_OF_PRODUCTS.per(2 * at_a_time * device.f32)
    terms = [
        Term("launches", total["launches"], "kernels and copies", LAUNCH),
        Term("conditions read by the host", total["reads"], "reads", READ),
        Term("memory", total["bytes"], "bytes", in_memory),
        Term("lookups", looked_up, "elements", lookup),
        Term("additions to cells", additions, "additions", _addition(counts, device)),
        Term("additions in shared memory", total["shared additions"], "additions",
             PART_OF_SHARED.per(at_a_time * SHARED_BANKS)),
        *(Term(f"arithmetic of {unit}", total[unit], "operations", arithmetic[unit]) for unit in arithmetic),
        Term("products of bfloat16", total["bf16 products"], "operations", products),
        Term("products of float32", total["f32 products"], "operations", f32_products),
    ]  # fmt: skip
    found = [_times(term, calls) for term in terms if term.amount]
    bus = PART_OF_BUS.per(device.bus)
    transfer = Range(*(counts.argument_bytes * of_byte for of_byte in bus))
    return Prediction(found, transfer, counts.compile_seconds, counts.num_bytes <= device.size)


def predict_tpu(counts: Counts, *, calls: int) -> Prediction:
    """Predicts a workload on a TPU v5e, from the cycles that its compiler estimates, and from what it leaves out."""
    total = counts.total
    of_cycles = lambda cycles: Range(*(number / V5E_CLOCK for number in cycles))  # noqa: E731
    terms = [
        Term(ESTIMATED, total["cycles"], "cycles", PART_OF_CYCLES.per(V5E_CLOCK)),
        Term("other lookups", total["other lookups"], "elements", of_cycles(CYCLES_OF_LOOKUP)),
        Term("other additions to cells", total["other additions"], "additions", of_cycles(CYCLES_OF_ADDITION)),
        Term("other memory", total["other bytes"], "bytes", PART_OF_MEMORY.per(V5E_MEMORY)),
    ]
    found = [_times(term, calls) for term in terms if term.amount]
    return Prediction(found, None, counts.compile_seconds, counts.num_bytes <= V5E_SIZE)


def predict(counts: Counts, device: str, *, calls: int, reads_in_order: bool) -> Prediction:
    """Predicts a workload on a device of `NVIDIA`, or on a TPU v5e."""
    if device in NVIDIA:
        return predict_gpu(counts, NVIDIA[device], calls=calls, reads_in_order=reads_in_order)
    return predict_tpu(counts, calls=calls)


def _addition(counts: Counts, device: Device) -> Range:
    """The seconds of an addition: in the cache if the largest table fits, and in memory if not."""
    largest = max((part.work.get("cells", 0) for part in counts.parts), default=0)
    cached, stored = (BYTES_OF_ADDITION / rate for rate in (device.cache_rate, device.memory))
    if largest <= device.cache:
        return Range(cached, (cached * stored) ** 0.5, 2 * stored)
    return Range((cached * stored) ** 0.5, stored, 2 * stored / PART_OF_MEMORY.likely)


def _times(term: Term, calls: int) -> Term:
    """A term of all calls, whose seconds were those of one thing."""
    amount = calls * term.amount
    return term._replace(amount=amount, seconds=Range(*(amount * of_one for of_one in term.seconds)))
