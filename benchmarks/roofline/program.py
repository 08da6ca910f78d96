"""The text of an optimised program, as XLA prints it: computations, their operations, and the place of each.

An operation of the entry, of a loop's body or of a branch is what a device runs at once: on a GPU a kernel or a copy,
on a TPU a step of the sequence. A *fused* computation says what is done within one of them.
"""

import re
from typing import NamedTuple

from benchmarks.compile_only.reading import cut_type
from benchmarks.roofline.rounds import place_of

BYTES = {
    "pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4,
    "s64": 8, "u64": 8, "f64": 8,
}  # fmt: skip
"""Bytes of a number of each type."""

_COMMENT = re.compile(r"/\*.*?\*/")
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .*\{\s*$")
_OPERATION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (.*)$")
_KIND = re.compile(r"^\s*([\w\-]+)\((.*)$")
_OPERAND = re.compile(r"%([\w.\-]+)")
_ARRAY = re.compile(r"\b([a-z]+\d*)\[([\d,]*)\]")
_ROW = re.compile(r'^(\d+) (?:\{(.*)\}|"(.*)")$')


class Operation(NamedTuple):
    """An operation.

    Attributes:
        name: Its name.
        type: What it returns.
        kind: XLA's name for what it does.
        operands: The names of its operands; of a constant, its value.
        rest: Its attributes, as text.
        is_root: Whether its computation returns it.
    """

    name: str
    type: str
    kind: str
    operands: tuple[str, ...]
    rest: str
    is_root: bool

    def called(self, attribute: str) -> str:
        """The name of a computation that it calls, such as `body`; empty without one."""
        found = re.search(rf"\b{attribute}=%?([\w.\-]+)", self.rest)
        return found[1] if found else ""

    @property
    def branches(self) -> list[str]:
        """The computations of a conditional, the one of number 0 first."""
        found = re.search(r"branch_computations=\{([^}]*)\}", self.rest)
        if found:
            return [name.strip().lstrip("%") for name in found[1].split(",")]
        return [self.called("false_computation"), self.called("true_computation")]

    @property
    def known_rounds(self) -> int | None:
        """The rounds of a loop, where the compiler knows them."""
        found = re.search(r"known_trip_count\W+n\W+(\d+)", self.rest)
        return int(found[1]) if found else None

    @property
    def cycles(self) -> int:
        """The cycles that a TPU's compiler estimates; 0 where it does not."""
        found = re.search(r'"estimated_cycles":"(-?\d+)"', self.rest)
        return max(int(found[1]), 0) if found else 0


class ProgramText(NamedTuple):
    """A program.

    Attributes:
        computations: Its operations, by the name of their computation.
        entry: The name of the computation that begins it.
        frames: The calls of Python that led to operations, by their number.
    """

    computations: dict[str, list[Operation]]
    entry: str
    frames: dict[int, list[tuple[str, str, int]]]

    def bound(self, condition: str) -> int | None:
        """The constant that the number of a loop stays below by its condition; None where it is another condition.

        XLA writes such loops itself, and counts from 0.
        """
        operations = {operation.name: operation for operation in self.computations[condition]}
        root = next((operation for operation in operations.values() if operation.is_root), None)
        if root is None or root.kind != "compare" or "direction=LT" not in root.rest:
            return None
        limit = operations.get(root.operands[1])
        return int(limit.operands[0]) if limit is not None and limit.kind == "constant" else None

    def place(self, operation: Operation) -> str:
        """The place of an operation in the sources of jaxtree; empty where it is not known."""
        found = re.search(r"stack_frame_id=(\d+)", operation.rest)
        return place_of(self.frames.get(int(found[1]), [])) if found else ""


def arrays_of(kind: str) -> list[tuple[str, int]]:
    """The types of the arrays that a type is made of, and their numbers of elements.

    >>> arrays_of("(f64[2,3]{1,0}, pred[])")
    [('f64', 6), ('pred', 1)]
    """
    found = []
    for element, sizes in _ARRAY.findall(kind):
        number = 1
        for size in filter(None, sizes.split(",")):
            number *= int(size)
        found.append((element, number))
    return found


def bytes_of(kind: str) -> int:
    """The bytes of a type.

    >>> bytes_of("(f64[2,3]{1,0}, pred[])")
    49
    """
    return sum(BYTES.get(element, 4) * number for element, number in arrays_of(kind))


def read(text: str) -> ProgramText:
    """Reads a program."""
    computations: dict[str, list[Operation]] = {}
    own: list[Operation] = []
    entry, tables, table = "", {}, None
    for line in _COMMENT.sub("", text).splitlines():
        if re.fullmatch(r"FileNames|FunctionNames|FileLocations|StackFrames", line):
            table = tables.setdefault(line, {})
        elif (row := _ROW.match(line)) and table is not None:
            table[int(row[1])] = row[3] if row[2] is None else dict(re.findall(r"(\w+)=(\d+)", row[2]))
        elif head := _HEAD.match(line):
            table, own = None, computations.setdefault(head[2], [])
            entry = head[2] if head[1] else entry
        elif found := _OPERATION.match(line):
            own.append(_operation(found[1], found[2], "ROOT " in line[:12]))
    return ProgramText(computations, entry, _frames(tables))


def _operation(name: str, words: str, is_root: bool) -> Operation:
    kind, rest = cut_type(words)
    found = _KIND.match(rest)
    if not found:
        return Operation(name, kind, "", (), rest, is_root)
    depth, end = 1, len(found[2])
    for place, letter in enumerate(found[2]):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            end = place
            break
    given = found[2][:end]
    operands = (given,) if found[1] == "constant" else tuple(_OPERAND.findall(given))
    return Operation(name, kind, found[1], operands, found[2][end:], is_root)


def _frames(tables: dict) -> dict[int, list[tuple[str, str, int]]]:
    """The calls that every frame stands for, the outermost first."""
    found: dict[int, list[tuple[str, str, int]]] = {}
    for number, frame in sorted(tables.get("StackFrames", {}).items()):
        location = tables["FileLocations"][int(frame["file_location_id"])]
        file = tables["FileNames"][int(location["file_name_id"])]
        function = tables["FunctionNames"][int(location["function_name_id"])]
        # A parent's number is written one too high, so that 1 is none.
        before = found.get(int(frame.get("parent_frame_id", 1)) - 1, [])
        found[number] = [*before, (file, function, int(location["line"]))]
    return found
