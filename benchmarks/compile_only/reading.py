"""The operations of an optimised program, read from the text that XLA prints of it.

A program is a set of computations. A loop, a branch, a fusion or a reduction names others that it calls.
"""

import re
from typing import NamedTuple

_COMMENT = re.compile(r"/\*.*?\*/")
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .*\{\s*$")
_OPERATION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (.*)$")
_NAME = re.compile(r"^\s*([\w\-]+)\(")
_WIDE = ("f64[", "s64[", "u64[")


class Operation(NamedTuple):
    """An operation of a program.

    Attributes:
        name: The name of its kind, as XLA has it.
        type: The type of its result.
        rest: Its arguments and attributes.
    """

    name: str
    type: str
    rest: str


class Counts(NamedTuple):
    """The number of operations of a program.

    Attributes:
        fusions: Fused operations, each a kernel of its own.
        loops: Loops.
        ended_by_host: Loops whose rounds only the running program knows, and branches: the host of a GPU waits for
            their conditions.
        scatters: Scattered additions.
        gathers: Lookups.
        products: Products of matrices.
        wide_products: Products of numbers of 64 bits.
    """

    fusions: int
    loops: int
    ended_by_host: int
    scatters: int
    gathers: int
    products: int
    wide_products: int


def count(text: str) -> Counts:
    """Counts the operations of a program."""
    operations = [operation for computation in _computations(text).values() for operation in computation]
    number = lambda *names: sum(operation.name in names for operation in operations)  # noqa: E731
    products = [operation for operation in operations if operation.name in ("dot", "convolution")]
    open_loops = [op for op in operations if op.name == "while" and "known_trip_count" not in op.rest]
    return Counts(
        fusions=number("fusion"),
        loops=number("while"),
        ended_by_host=len(open_loops) + number("conditional"),
        scatters=number("scatter"),
        gathers=number("gather"),
        products=len(products),
        wide_products=sum(operation.type.startswith(_WIDE) for operation in products),
    )


def _computations(text: str) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    own: list[Operation] = []
    for line in _COMMENT.sub("", text).splitlines():
        head = _HEAD.match(line)
        if head:
            own = found.setdefault(head[2], [])
            continue
        operation = _OPERATION.match(line)
        if operation:
            kind, rest = _cut_type(operation[1])
            name = _NAME.match(rest)
            own.append(Operation(name[1] if name else "", kind, rest))
    return found


def _cut_type(words: str) -> tuple[str, str]:
    """Divides the words of an operation after its type, which may be a tuple of types."""
    if not words.startswith("("):
        kind, _, rest = words.partition(" ")
        return kind, rest
    depth = 0
    for place, letter in enumerate(words):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return words[: place + 1], words[place + 1 :]
    return words, ""
