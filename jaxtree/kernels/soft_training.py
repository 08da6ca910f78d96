"""Trainings of soft trees by the kernel in C++; see native/src/soft/training.cc."""

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float32, Int32, UInt32

from jaxtree.errors import present
from jaxtree.kernels import library

GATES = "oblique", "axis", "hard"
CHOICES = "softmax", "entmax15", "sparsemax"
SIDES = "sigmoid", "entmoid", "softsign"
LOSSES = "cross entropy", "shares", "squared"
"""The names of what the kernel numbers, in its order."""


class KernelForm(NamedTuple):
    """All of a training that is no array of its run: `Form` of native/src/soft/form.h.

    Attributes:
        depth: Edges from the root to every leaf.
        num_features: Columns of the rows, indicators included.
        num_outputs: Classes, or numbers.
        gate: One of `GATES`.
        choice: One of `CHOICES`.
        side: One of `SIDES`.
        is_oblivious: Whether all nodes of a level have the same gate.
        is_mixture: Whether outputs are logarithms of means of the leaves' distributions.
        loss: One of `LOSSES`.
        compares_errors: Whether checkpoints are compared by the share of wrong classes.
        is_constant: Whether rates do not fall.
        batch_size: The most rows of a step.
        missing: For each of the last features, which are indicators, the features that are missing where it is 1.
    """

    depth: int
    num_features: int
    num_outputs: int
    gate: str
    choice: str
    side: str
    is_oblivious: bool
    is_mixture: bool
    loss: str
    compares_errors: bool
    is_constant: bool
    batch_size: int
    missing: tuple[tuple[int, ...], ...]


class KernelRows(NamedTuple):
    """Rows, `num_rows` and padding.

    Attributes:
        x: The inputs.
        target: The codes of classes, their shares, or numbers.
        weight: The weight of every row.
        start: The scores of numbers are `start + unit * output`.
        unit: By what outputs are multiplied.
        num_rows: The number of rows.
    """

    x: Float32[np.ndarray, "row feature"]
    target: Float32[np.ndarray, "row output"] | Int32[np.ndarray, " row"]
    weight: Float32[np.ndarray, " row"]
    start: Float32[np.ndarray, " output"]
    unit: Float32[np.ndarray, " output"]
    num_rows: int


class KernelNumbers(NamedTuple):
    """The numbers of a training; no noise and no penalty are 0."""

    gate_rate: float
    leaf_rate: float
    first_temperature: float
    last_temperature: float
    monitor_temperature: float
    noise: float
    averaging: float
    leaf_penalty: float


class KernelState(NamedTuple):
    """The state of a training: parameters in the order of their fields, and counts.

    Attributes:
        parameters: The model, its average, the means of slopes and of their squares, and the best average.
        num_updates: How many steps the optimiser has made.
        num_steps: How many steps have been made.
        best_loss: The loss of the best.
        best_epoch: The epoch after which it stood.
    """

    parameters: Float32[np.ndarray, "5 parameter"]
    num_updates: int
    num_steps: int
    best_loss: float
    best_epoch: int


class KernelEpochs(NamedTuple):
    """The results of some epochs, as in `jaxtree.soft.epochs.Epochs`."""

    state: KernelState
    number: int
    is_finite: bool
    goes_on: bool
    loss: Float32[np.ndarray, " epoch"]
    held_loss: Float32[np.ndarray, " epoch"]


class _FormRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in (*KernelForm._fields[:-1], "num_indicators")),
        ("covered", ctypes.c_void_p),
        ("first_covered", ctypes.c_void_p),
    ]


class _RowsRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in KernelRows._fields[:-1]),
        ("size", ctypes.c_int64),
        ("num_rows", ctypes.c_int64),
    ]


class _NumbersRecord(ctypes.Structure):
    _fields_ = [(name, ctypes.c_float) for name in KernelNumbers._fields]


class _StateRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("model", "average", "mean", "square", "best")),
        ("num_updates", ctypes.c_int32),
        ("num_steps", ctypes.c_int32),
        ("best_loss", ctypes.c_float),
        ("best_epoch", ctypes.c_int32),
    ]


class _EndsRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in ("first", "stop", "num_epochs", "patience")),
        ("seconds", ctypes.c_double),
    ]


class _ResultsRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in ("number", "is_finite", "goes_on")),
        ("loss", ctypes.c_void_p),
        ("held_loss", ctypes.c_void_p),
    ]


class _Arguments:
    """Records that the kernel reads, with the arrays that they point to, and a state that it changes."""

    def __init__(
        self, form: KernelForm, rows: KernelRows, held: KernelRows | None, numbers: KernelNumbers, state: KernelState
    ):
        self._arrays: list[np.ndarray] = []
        lengths = [len(features) for features in form.missing]
        covered = np.array([feature for features in form.missing for feature in features], np.int32)
        first = np.cumsum([0, *lengths]).astype(np.int32)
        codes = form._replace(
            gate=GATES.index(form.gate), choice=CHOICES.index(form.choice), side=SIDES.index(form.side),
            loss=LOSSES.index(form.loss),
        )  # fmt: skip
        self._form = _FormRecord(*codes[:-1], len(lengths), self._pointer(covered), self._pointer(first))
        self._rows, self._held = self._rows_of(rows), None if held is None else self._rows_of(held)
        self._numbers = _NumbersRecord(*numbers)
        self.parameters = state.parameters.copy()
        self.state = _StateRecord(*(row.ctypes.data for row in self.parameters), *state[1:])

    @property
    def pointers(self) -> Sequence[Any]:
        """Pointers to the first arguments of the functions of the kernel."""
        held = None if self._held is None else ctypes.byref(self._held)
        others = ctypes.byref(self._numbers), ctypes.byref(self.state)
        return ctypes.byref(self._form), ctypes.byref(self._rows), held, *others

    def new_state(self) -> KernelState:
        """Returns the state as the kernel has left it."""
        own = self.state
        return KernelState(self.parameters, own.num_updates, own.num_steps, own.best_loss, own.best_epoch)

    def _rows_of(self, rows: KernelRows) -> _RowsRecord:
        return _RowsRecord(*(self._pointer(part) for part in rows[:-1]), len(rows.x), rows.num_rows)

    def _pointer(self, array: np.ndarray) -> int:
        self._arrays.append(np.ascontiguousarray(array))
        return self._arrays[-1].ctypes.data


def make_epochs(
    form: KernelForm,
    rows: KernelRows,
    held: KernelRows | None,
    numbers: KernelNumbers,
    state: KernelState,
    ends: tuple[int, int, int, int],
    *,
    key: UInt32[np.ndarray, "2"],
    seconds: float,
) -> KernelEpochs:
    """Makes epochs of a training until its end, or that of some seconds.

    Args:
        form: The model and its loss.
        rows: The rows to train on.
        held: The rows to compare checkpoints on.
        numbers: The numbers of the training.
        state: The state before.
        ends: The first epoch, the one before which the call ends, the number of all, and the patience.
        key: The words of the key of the batches and the noise, for Threefry.
        seconds: After how long no further epoch is begun.

    Raises:
        MemoryError: There is too little memory.
    """
    arguments, number = _Arguments(form, rows, held, numbers, state), max(ends[1] - ends[0], 0)
    losses = np.zeros((2, number), np.float32)
    results = _ResultsRecord(0, 1, 1, losses[0].ctypes.data, losses[1].ctypes.data)
    own_ends = _EndsRecord(*ends, seconds)
    train = _find("jaxtree_train_soft_tree")
    if not train(*arguments.pointers, ctypes.byref(own_ends), key.ctypes.data, ctypes.byref(results)):
        raise MemoryError("training a soft tree")
    made = results.number
    is_finite, goes_on = bool(results.is_finite), bool(results.goes_on)
    return KernelEpochs(arguments.new_state(), made, is_finite, goes_on, losses[0, :made], losses[1, :made])


def loss_of_start(form: KernelForm, held: KernelRows, numbers: KernelNumbers, state: KernelState) -> KernelState:
    """Returns the state with the loss of its average on held rows as that of the best.

    Raises:
        MemoryError: There is too little memory.
    """
    arguments = _Arguments(form, held, held, numbers, state)
    if not _find("jaxtree_compare_soft_tree")(*arguments.pointers):
        raise MemoryError("comparing a soft tree")
    return arguments.new_state()


@functools.cache
def _find(name: str) -> Any:
    function = getattr(present(library.load()), name)
    function.argtypes = [ctypes.c_void_p] * (8 if name == "jaxtree_train_soft_tree" else 5)
    function.restype = ctypes.c_bool
    return function
