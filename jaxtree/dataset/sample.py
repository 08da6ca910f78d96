"""The rows of a table before they are encoded: target, weights and fields, the outputs of the target, and divisions.

Rows are divided at random into those that a model learns from and those that it is validated with.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float64, Int, Real, Shaped
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state

from jaxtree.dataset.arguments import Fields, read_arguments, read_fields
from jaxtree.errors import IdentifierWarning, InvalidInputError, warn_user
from jaxtree.table.probabilities import ClassProbabilities, ShareTarget, encode_probabilities
from jaxtree.table.reading import take_rows
from jaxtree.table.target import ClassTarget, NumberTarget
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree.model import encode_known_classes, encode_known_numbers

FEW_CLASSES = 20
"""A target of more classes looks like an identifier where there are fewer than two rows a class."""

MANY_CLASSES = 100
"""A target of more classes looks like an identifier where there are fewer than ten rows a class."""

Weights: TypeAlias = Float64[np.ndarray, " row"] | None
"""The weight of every row; None is 1."""


class Outputs(NamedTuple):
    """The kind of a target: classes, or numbers.

    Attributes:
        number: The number of outputs.
        classes: The classes of every output in ascending order; none for numbers.
        declared: Their places in the order in which the dtype of the target declares them.
        num_declared: The most declared classes of an output.
        is_vector: Whether numbers were given, and are predicted, without an axis of outputs.
        has_shares: Whether a target has the probability of every class, in place of codes.
    """

    number: int
    classes: tuple[Shaped[np.ndarray, " _class"], ...] = ()
    declared: tuple[Int[np.ndarray, " _class"], ...] = ()
    num_declared: int = 0
    is_vector: bool = False
    has_shares: bool = False

    @classmethod
    def of(cls, target: ClassTarget | NumberTarget | ShareTarget) -> "Outputs":
        """Returns the outputs of an encoded target."""
        if isinstance(target, ShareTarget):
            number = len(target.classes)
            return cls(1, (target.classes,), (np.arange(number, dtype=np.int32),), number, has_shares=True)
        if isinstance(target, NumberTarget):
            return cls(len(target.values), is_vector=target.is_vector)
        return cls(len(target.classes), target.classes, target.declared, max(target.num_declared))

    @property
    def num_classes(self) -> tuple[int, ...]:
        """The number of classes of every output; none for numbers."""
        return tuple(map(len, self.classes))

    def encode(self, y: Any) -> Real[np.ndarray, "output row"]:
        """Returns the target of other rows: codes of these classes, negative for any other class; or numbers.

        Where the target has shares, it returns the shares of these classes, negative ones for any other class.
        """
        if self.has_shares:
            return shares_of_known(y, self.classes[0])
        return encode_known_classes(y, self.classes) if self.classes else encode_known_numbers(y, self.number)


class Sample(NamedTuple):
    """A table as it came, its target in codes or numbers, and what else its rows have.

    Attributes:
        X: The table.
        target: Classes as codes, a negative one for a class that fit has not seen; or numbers; or a row of shares for
            every class, see `Outputs.has_shares`.
        outputs: The outputs of the target.
        weight: The weight of every row; None is 1.
        fields: The further data of rows, by name.
        beside: The columns of a source that are no features.
    """

    X: Any
    target: Real[np.ndarray, "output row"]
    outputs: Outputs
    weight: Weights
    fields: Fields
    beside: tuple[str, ...]

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.target.shape[1]

    @property
    def labels(self) -> Real[np.ndarray, "output row"]:
        """The target, of shares the codes of the most probable classes."""
        return self.target.argmax(axis=0).astype(np.int32)[None] if self.outputs.has_shares else self.target

    def take(self, rows: Int[np.ndarray, " taken"]) -> "Sample":
        """Returns some of the rows.

        Raises InvalidInputError if the table has another number of rows than the target.
        """
        return self._replace(
            X=take_rows(self.X, rows, self.num_rows),
            target=self.target[:, rows],
            weight=None if self.weight is None else self.weight[rows],
            fields={name: values[rows] for name, values in self.fields.items()},
        )

    def without_weightless_rows(self) -> "Sample":
        """Returns the rows of some weight: categories and bins are to be those of the table without the others, too."""
        return self if self.weight is None or self.weight.all() else self.take(np.flatnonzero(self.weight))

    def without_field(self, name: str) -> "Sample":
        """Returns the rows without one of their fields."""
        return self._replace(fields={own: values for own, values in self.fields.items() if own != name})

    def split(
        self, fraction: float, seed: Any, group: Int[np.ndarray, " row"] | None = None
    ) -> tuple["Sample", "Sample"]:
        """Divides the rows at random into those to learn from and a share of so large a fraction to validate with.

        Args:
            fraction: The share.
            seed: The seed of the choice.
            group: The group of every row; those of one stay together. The field of that name if not given.

        Raises:
            InvalidInputError: A part would have no row, or no group.
        """
        group = self.fields.get("group") if group is None else group
        if group is not None:
            parts = split_groups(group, fraction, seed)
        else:
            parts = split_rows(self.labels, self.outputs.num_classes, fraction, seed)
        train, held = map(self.take, parts)
        return train, held


def read_known(
    outputs: Outputs, X: Any, y: Any, sample_weight: Any = None, fields: Mapping[str, Any] | None = None
) -> Sample:
    """Reads rows that a model is not fitted on; classes are codes of those that it knows.

    Args:
        outputs: The outputs of the model's target.
        X: A table, or a source.
        y: Its target.
        sample_weight: The weight of every row.
        fields: The further data of rows, by name.

    Raises:
        InvalidInputError: The target, the weights or a field is not allowed.
    """
    given = read_arguments(X, y, sample_weight, fields)
    target = outputs.encode(given.y)
    weight = check_sample_weight(given.sample_weight, target.shape[1])
    return Sample(given.X, target, outputs, weight, read_fields(given.fields, target.shape[1]), given.beside)


def shares_of_known(y: Any, classes: Shaped[np.ndarray, " class"]) -> Float64[np.ndarray, "class row"]:
    """Returns the shares of known classes in rows of classes or of probabilities.

    A row that has another class, or a share of it, has negative ones.

    >>> shares_of_known(["b", "c"], np.array(["a", "b"])).tolist()
    [[0.0, -1.0], [1.0, -1.0]]
    """
    if not isinstance(y, ClassProbabilities):
        codes = encode_known_classes(y, (classes,))[0]
        return np.where(codes < 0, -1.0, codes == np.arange(len(classes))[:, None])
    target = encode_probabilities(y)
    if isinstance(target, ClassTarget):
        return shares_of_known(target.classes[0][target.codes[0]], classes)
    place = {name: number for number, name in enumerate(classes.tolist())}
    shares = np.zeros((len(classes), target.num_rows))
    for name, own in zip(target.classes.tolist(), target.shares, strict=True):
        if name in place:
            shares[place[name]] = own
    return np.where(shares.sum(axis=0) == 1, shares, -1.0)


def note_identifiers(target: ClassTarget) -> None:
    """Warns of a target that looks like an identifier, or like numbers: nearly every row has a class of its own."""
    for classes in target.classes:
        rows_of_class = target.num_rows / max(len(classes), 1)
        if (len(classes) > FEW_CLASSES and rows_of_class < 2) or (len(classes) > MANY_CLASSES and rows_of_class < 10):
            warn_user(
                f"y has {len(classes)} classes in {target.num_rows} rows, {rows_of_class:.1f} rows a class: it looks "
                "like an identifier, from which no model can learn, or like numbers, which need a regressor",
                IdentifierWarning,
            )


Parts = tuple[Int[np.ndarray, " train"], Int[np.ndarray, " held"]]


def generator_of(random_state: Any) -> np.random.RandomState:
    """Returns what scikit-learn draws with, of a seed, of either of NumPy's generators, or of None.

    A `numpy.random.Generator` moves on by one number, so that further fits draw anew.
    """
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**32))
    return check_random_state(random_state)


def split_rows(
    target: Real[np.ndarray, "output row"], num_classes: tuple[int, ...], fraction: float, seed: Any
) -> Parts:
    """Returns the rows to learn from, and a share of so large a fraction to validate with.

    Classes of one output keep their shares, if every class has two rows.

    Raises:
        InvalidInputError: A part would have no row.
    """
    num_rows = target.shape[1]
    num_held = round(fraction * num_rows)
    if not 0 < num_held < num_rows:
        raise InvalidInputError(
            f"validation_fraction {fraction} of {num_rows} rows leaves a part without rows; pass X_val and "
            "y_val, or another fraction"
        )
    strata = None
    if len(num_classes) == 1:
        fits_all = min(fraction, 1 - fraction) * num_rows >= num_classes[0]
        strata = target[0] if fits_all and np.all(np.bincount(target[0]) != 1) else None
    shuffle = ShuffleSplit if strata is None else StratifiedShuffleSplit
    splitter = shuffle(1, test_size=num_held, train_size=num_rows - num_held, random_state=generator_of(seed))
    train, held = map(np.sort, next(splitter.split(target[0], strata)))
    return train, held


def split_groups(group: Shaped[np.ndarray, " row"], fraction: float, seed: Any) -> Parts:
    """Returns the rows of both parts, of which each has whole groups.

    Raises:
        InvalidInputError: A part would have no group.
    """
    number = len(np.unique(group))
    if not 0 < round(fraction * number) < number:
        raise InvalidInputError(
            f"validation_fraction {fraction} of {number} groups leaves a part without groups; pass eval_set, or "
            "another fraction"
        )
    splitter = GroupShuffleSplit(1, test_size=fraction, random_state=generator_of(seed))
    train, held = map(np.sort, next(iter(splitter.split(group, groups=group))))
    return train, held
