"""The rows of a model that is grown again whenever a batch of rows comes.

They are kept as they were read, not in codes, so that bins and categories are those of one table with all of them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Shaped

from jaxtree.dataset.arguments import FitArguments, read_arguments
from jaxtree.dataset.dataset import TableOptions, sample_of
from jaxtree.dataset.magnitude import check_counts
from jaxtree.dataset.sample import Outputs, Sample, Weights, note_identifiers
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.encoder import check_names
from jaxtree.table.probabilities import ClassProbabilities
from jaxtree.table.reading import Table, check_same_length, read_table, take_rows
from jaxtree.table.sources import is_source, naming
from jaxtree.table.summary import NO_ROWS, join_tables
from jaxtree.table.target import ClassTarget, NumberTarget, encode_classes, encode_numbers, in_classes
from jaxtree.table.weights import check_sample_weight

BATCH, SO_FAR = "this batch", "those before"
"""The names of tables in messages."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows of some weight, in arrays of their own.

    Attributes:
        table: The columns: 8 bytes a number, or 4 as float32, and 4 a word.
        target: Codes of classes, 4 bytes each, or numbers of 8.
        weight: The weights, of 8 bytes; None is 1.
        beside: The columns of sources that are no features.
        declared: All classes of every output that there will be, in ascending order; none if more may come.
    """

    table: Table
    target: ClassTarget | NumberTarget
    weight: Weights
    beside: tuple[str, ...]
    declared: tuple[Shaped[np.ndarray, " _class"], ...] = ()

    def __post_init__(self):
        """Raises InvalidInputError if a row has a class that is not declared."""
        if isinstance(self.target, ClassTarget) and self.declared:
            for own, declared in zip(self.target.classes, self.declared, strict=True):
                others = [name for name in own.tolist() if name not in declared.tolist()]
                if others:
                    raise InvalidInputError(
                        f"y must have classes of classes={declared.tolist()} alone, got {others[0]!r}"
                    )

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return len(self.table), len(self.table.names)

    @classmethod
    def read(cls, X: Any, y: Any, sample_weight: Any, *, of_classes: bool, classes: Any = None) -> "KeptRows":
        """Reads the rows of a batch.

        Args:
            X: A table, or a source.
            y: Its target.
            sample_weight: The weight of every row.
            of_classes: Whether targets are classes; else they are numbers.
            classes: All classes that there will be, of several outputs a list with those of each; None: more may come.

        Raises:
            InvalidInputError: The table, the target, the weights or the classes are not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        if isinstance(y, ClassProbabilities):
            raise InvalidInputError("partial_fit takes a class for every row, got ClassProbabilities, which fit takes")
        given = read_arguments(X, y, sample_weight).without_weightless_rows()
        target = encode_classes(given.y) if of_classes else encode_numbers(given.y)
        weight = check_sample_weight(given.sample_weight, target.num_rows)
        if weight is not None and not weight.all():
            take_rows(given.X, np.flatnonzero(weight), len(weight))  # which refuses to, of a source
        table = join_tables(_parts_of(given.X))
        check_same_length(len(table), target.codes[0] if isinstance(target, ClassTarget) else target.values[0])
        declared = () if classes is None else _declared_classes(classes, Outputs.of(target).number)
        return cls(table, target, None if weight is None else weight.copy(), given.beside, declared)

    def plus(self, batch: "KeptRows") -> "KeptRows":
        """Returns these rows with those of a batch behind them.

        Raises:
            InvalidInputError: The batch has other columns, another number of outputs, a column of another kind, a
                class that is not declared, or declares others.
            InvalidTypeError: It has another kind of classes.
        """
        check_names(batch.table, self.table.names)
        target = _joined_targets(self.target, batch.target)
        if batch.declared and isinstance(self.target, ClassTarget):
            known = self.declared or self.target.classes
            if not all(map(np.array_equal, batch.declared, known)):
                raise InvalidInputError(
                    f"classes must be those of the first call, {_listed(known)}, got {_listed(batch.declared)}"
                )
        weight = None
        if self.weight is not None or batch.weight is not None:
            both = (np.ones(len(own.table)) if own.weight is None else own.weight for own in (self, batch))
            weight = np.concatenate([*both])
        beside = tuple(dict.fromkeys((*self.beside, *batch.beside)))
        table = join_tables([(SO_FAR, self.table), (BATCH, batch.table)])
        return KeptRows(table, target, weight, beside, self.declared)

    def sample(self, options: TableOptions) -> Sample:
        """Returns the rows as `read_sample` does those of a fit; they have no classes that are only declared."""
        target = self.target
        if isinstance(target, NumberTarget) and options.counts is not None:
            check_counts(target.values, target.values.sum(), options.counts)
        if isinstance(target, ClassTarget):
            note_identifiers(target)
            pairs = zip(self.declared, target.classes, strict=False)
            absent = tuple(tuple(np.setdiff1d(*pair).tolist()) for pair in pairs)
            target = replace(target, absent=absent or target.absent)
        return sample_of(FitArguments(self.table, None, self.weight, {}, self.beside), target, options)


def _parts_of(X: Any) -> list[tuple[str, Table]]:
    """Returns the tables of a source, each after its name in messages, or the one table that X is."""
    if not is_source(X):
        return [(BATCH, read_table(X))]
    parts = []
    for part in X:
        with naming(part.label):
            parts.append((part.label, read_table(part.table)))
    if not parts:
        raise InvalidInputError(NO_ROWS)
    return parts


def _declared_classes(classes: Any, num_outputs: int) -> tuple[Shaped[np.ndarray, " _class"], ...]:
    """Returns the classes of every output in ascending order."""
    of_outputs = [classes] if num_outputs == 1 else list(classes)
    if len(of_outputs) != num_outputs:
        raise InvalidInputError(
            f"classes must be a list with the classes of each of {num_outputs} outputs, got {len(of_outputs)}"
        )
    return tuple(np.unique(np.asarray(own)) for own in of_outputs)


def _listed(classes: tuple[Shaped[np.ndarray, " _class"], ...]) -> list:
    """Returns classes as they are given: of one output in one list."""
    of_outputs = [own.tolist() for own in classes]
    return of_outputs[0] if len(of_outputs) == 1 else of_outputs


def _joined_targets(first: ClassTarget | NumberTarget, other: Any) -> ClassTarget | NumberTarget:
    """Returns the targets of rows, one after the other; both are of classes, or of numbers."""
    numbers = [Outputs.of(own).number for own in (first, other)]
    if numbers[0] != numbers[1]:
        raise InvalidInputError(f"y must have {numbers[0]} outputs, as in {SO_FAR}, got {numbers[1]}")
    if isinstance(first, NumberTarget):
        return replace(first, values=np.concatenate([first.values, other.values], axis=1))
    classes = tuple(map(_joined_classes, first.classes, other.classes))
    both = [in_classes(own, classes) for own in (first, other)]
    absent = tuple(
        tuple(name for name in dict.fromkeys((*one, *another)) if name not in names.tolist())
        for one, another, names in zip(first.absent, other.absent, classes, strict=True)
    )
    return replace(both[0], codes=np.concatenate([own.codes for own in both], axis=1), absent=absent)


def _joined_classes(
    first: Shaped[np.ndarray, " _class"], other: Shaped[np.ndarray, " _other"]
) -> Shaped[np.ndarray, " _all"]:
    """Returns the classes of both in ascending order."""
    one, another = first.tolist()[0], other.tolist()[0]
    if isinstance(one, str) == isinstance(another, str):
        try:
            return np.unique(np.concatenate([first, other]))
        except TypeError:
            pass
    raise InvalidTypeError(
        f"y must be all strings, all numbers or all booleans: it has {another!r} in {BATCH}, and {one!r} in {SO_FAR}"
    )
