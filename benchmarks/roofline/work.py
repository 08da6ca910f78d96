"""The work of one operation of a program: launches, bytes, additions to cells, and arithmetic.

Everything follows from the shapes that XLA prints. Where an operation looks up, cuts or scatters, only the elements
that it touches count, not the whole table.
"""

import math
import re
from collections import Counter

from benchmarks.roofline.program import BYTES, Operation, ProgramText, arrays_of, bytes_of

SECTOR = 32
"""Bytes that a GPU reads of memory at least (NVIDIA, CUDA C++ Programming Guide, section on device memory accesses)."""

LARGE = 2**20
"""A table of fewer bytes stays in caches: of a lookup there only its own bytes count."""

PASSES_OF_SORT, LAUNCHES_OF_PASS = 8, 2
"""A radix sort looks at 8 of 64 bits at a time, and reads and writes everything once for each (Merrill, CUB)."""

FREE = {
    "parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all", "partition-id", "replica-id",
    "opt-barrier", "copy-done", "slice-done", "async-done", "async-update",
}  # fmt: skip
"""Operations that are none at run time."""

STARTS = {"copy-start", "slice-start"}
"""Copies that go on beside other operations; they return the new array and the old one."""

MOVES = FREE | {
    "broadcast", "iota", "reshape", "transpose", "copy", "slice", "concatenate", "pad", "gather", "scatter", "reverse",
    "dynamic-slice", "dynamic-update-slice", "fusion", "call", "while", "conditional", "sort", "convert", "reduce",
    "reduce-window", "dot", "convolution", "custom-call", "bitcast-convert", "rng-bit-generator",
}  # fmt: skip
"""Operations without arithmetic of their own for every element that they return; products and reductions apart."""

ARITHMETIC = {
    "log": 20, "log-plus-one": 20, "exponential": 20, "exponential-minus-one": 20, "power": 40, "tanh": 20,
    "logistic": 20, "cosine": 20, "sine": 20, "erf": 20, "divide": 10, "remainder": 10, "sqrt": 10, "rsqrt": 10,
    "cbrt": 20, "atan2": 20,
}  # fmt: skip
"""Operations of a processor for one of these; all others take one. Order of size, from the length of their code."""

TAKING = {"gather", "dynamic-slice", "slice"}
"""Operations that read a part of their first operand."""

KERNEL = "add_entries"
"""Part of the name of the kernel in Warp that sums histograms, see `jaxtree.growth.device.warp_histogram`."""

Work = Counter[str]
"""Amounts by name.

- `launches`: kernels and copies.
- `bytes`: read and written in order.
- `lookups`: elements looked up, or slices of adjacent ones; those in large tables are `scattered` or, of one or two
  bytes, `scattered codes`.
- `additions`: numbers added to cells by scatters, and `wide additions`, of 64 bits.
- `cells`: bytes of the tables that are added to.
- `shared additions`: numbers added by a kernel in the memory of its processor.
- `f64`, `f32`, `i64`, `i32`: operations of arithmetic.
- `bf16 products`, `f32 products`: operations of products of matrices of these numbers, or of wider ones.
- `cycles`: those that a TPU's compiler estimates.
- `other bytes`, `other lookups`, `other additions`: those of operations for which it estimates none.
"""


def work_of(operation: Operation, program: ProgramText, types: dict[str, str]) -> Work:
    """Returns the work of an operation of the entry, of a loop or of a branch.

    Args:
        operation: The operation.
        program: Its program.
        types: The types of all operations of its computation, by name.
    """
    if operation.kind in FREE or operation.kind in ("while", "conditional", "call"):
        return Counter()
    work: Work = Counter({"launches": 1, "cycles": operation.cycles})
    inner = program.computations.get(operation.called("calls"), []) if operation.kind == "fusion" else []
    operands = [types.get(name, "") for name in operation.operands]
    if operation.kind in STARTS:
        work["bytes"] = bytes_of(operation.type)
    elif operation.kind == "sort":
        work["launches"] = PASSES_OF_SORT * LAUNCHES_OF_PASS
        work["bytes"] = 2 * PASSES_OF_SORT * bytes_of(operation.type)
    elif operation.kind == "custom-call":
        work.update(_of_kernel(operands) if KERNEL in operation.rest else Counter())
    elif inner:
        work.update(_of_fusion(operation, inner, program))
    else:
        alone = {operation.name: operation.type} | dict(zip(operation.operands, operands, strict=True))
        work.update(_of_step(operation, alone))
        work["bytes"] += _written(operation, operation, alone)
        work["bytes"] += sum(_read(name, [operation], alone, work) for name in set(operation.operands))
    return work


def without_estimate(work: Work) -> Work:
    """The work of an operation of a TPU, for which its compiler estimates no cycles."""
    additions = work["additions"] + work["wide additions"]
    other = {"other bytes": work["bytes"], "other lookups": work["lookups"], "other additions": additions}
    return work + Counter({name: amount for name, amount in other.items() if amount})


def _of_kernel(operands: list[str]) -> Work:
    """The work of the kernel that sums histograms: every entry adds to one or more places of each table.

    Operands: codes, features, rows, bases, values, reach, places, tables.
    """
    _, _, rows, _, _, _, places, tables = operands
    first = lambda kind: int(re.search(r"\[(\d+)", kind)[1])  # noqa: E731
    additions = first(tables) * first(rows) * (first(places) - 1)
    return Counter({"bytes": sum(map(bytes_of, operands)), "shared additions": additions})


def _of_fusion(fusion: Operation, inner: list[Operation], program: ProgramText) -> Work:
    types = {step.name: step.type for step in inner}
    work: Work = Counter()
    for step in inner:
        if step.kind == "fusion":  # A TPU's compiler nests them.
            nested = program.computations.get(step.called("calls"), [])
            work.update(_of_fusion(step, nested, program))
        else:
            work.update(_of_step(step, types))
    root = next((step for step in inner if step.is_root), inner[-1])
    steps = {step.name: step for step in inner}
    roots = [steps.get(name, root) for name in root.operands] if root.kind == "tuple" else [root]
    work["bytes"] += sum(_written(step, fusion, types) for step in roots)
    for step in inner:
        if step.kind == "parameter":
            users = [user for user in inner if step.name in user.operands]
            work["bytes"] += _read(step.name, users, types, work)
    return work


def _of_step(step: Operation, types: dict[str, str]) -> Work:
    """The arithmetic and the additions of a step, and what it looks up."""
    work: Work = Counter()
    arrays = arrays_of(step.type)
    if step.kind == "scatter":
        # Operands: tables, then places, then what is added.
        num_tables = (len(step.operands) - 1) // 2
        for name in step.operands[num_tables + 1 :]:
            for element, number in arrays_of(types.get(name, "")):
                work["wide additions" if BYTES.get(element, 4) == 8 else "additions"] += number
        work["cells"] += bytes_of(step.type)
    elif step.kind == "gather":
        work["lookups"] += arrays[0][1] // _slice_size(step)
    elif step.kind in ("dot", "convolution"):
        given = arrays_of(types.get(step.operands[0], "")) or arrays
        kind = "bf16" if BYTES.get(given[0][0], 4) <= 2 else "f32"
        work[f"{kind} products"] += 2 * arrays[0][1] * _contracted(step, types)
    elif step.kind in ("reduce", "reduce-window"):
        for name in step.operands[: len(arrays)]:
            for element, number in arrays_of(types.get(name, "")):
                work[_unit(element)] += number
    elif step.kind not in MOVES:
        for element, number in arrays[:1]:
            operand = arrays_of(types.get(step.operands[0], ""))[:1] if step.operands else []
            unit = _unit(operand[0][0] if element == "pred" and operand else element)
            work[unit] += number * ARITHMETIC.get(step.kind, 1)
    return work


def _slice_size(gather: Operation) -> int:
    """The elements that a lookup takes at once, one after another."""
    found = re.search(r"slice_sizes=\{([\d,]*)\}", gather.rest)
    return max(1, math.prod(int(size) for size in filter(None, found[1].split(",")))) if found else 1


def _unit(element: str) -> str:
    """The unit of a processor that computes with numbers of a type."""
    if element.startswith(("f", "bf")):
        return "f64" if element == "f64" else "f32"
    return "i64" if element in ("s64", "u64") else "i32"


def _contracted(product: Operation, types: dict[str, str]) -> int:
    """The numbers that are multiplied and added for one element of a product."""
    left, right = (types.get(name, "") for name in product.operands[:2])
    sizes = [arrays_of(kind)[0][1] if arrays_of(kind) else 1 for kind in (left, right)]
    number = arrays_of(product.type)[0][1]
    # Rows x inner, inner x columns: the root of left times right over the result; batches appear in all three.
    return max(1, round((sizes[0] * sizes[1] / max(number, 1)) ** 0.5))


def _written(step: Operation, whole: Operation, types: dict[str, str]) -> int:
    """The bytes that are written where a step is the last one."""
    if step.kind == "scatter":
        return 0
    if step.kind == "dynamic-update-slice" and len(step.operands) > 1:
        return bytes_of(types.get(step.operands[1], ""))
    return bytes_of(step.type if step.kind != "parameter" else whole.type)


def _read(name: str, users: list[Operation], types: dict[str, str], work: Work) -> int:
    """The bytes of an array that its users read; what they look up one by one is added to `work`."""
    kind = types.get(name, "")
    if not users:
        return 0
    total = 0
    for user in users:
        first = user.operands[0] == name if user.operands else False
        if user.kind in TAKING and first:
            taken = bytes_of(user.type)
            (element, number), *_ = arrays_of(user.type) or [("s32", 0)]
            if user.kind == "gather" and bytes_of(kind) > LARGE:
                where = "scattered codes" if BYTES.get(element, 4) <= 2 else "scattered"
                work[where] += number // _slice_size(user)
            total += taken
        elif user.kind in ("scatter", "dynamic-update-slice") and first:
            total += 0
        else:
            total = max(total, bytes_of(kind))
    return min(total, max(bytes_of(kind), total))
