"""`Dataset`: the rows of a fit in codes, all that lies between the arguments of `fit` and growth.

It is read in two steps, so that a model may look at targets and fields before a large table is encoded: `read_sample`
reads the arguments, `encode_sample` holds rows out and encodes the others. Where the rows of this process are a part of
those of several, an `Exchange` has all learn the same classes and columns, and raises an error of one in all.
"""

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Real, Shaped, UInt

from jaxtree.dataset.arguments import Fields, FitArguments, read_arguments, read_fields
from jaxtree.dataset.exchange import LONE, AllRows, Exchange, SharedExchange
from jaxtree.dataset.magnitude import check_counts, check_sums
from jaxtree.dataset.sample import Outputs, Sample, Weights, note_identifiers
from jaxtree.sklearn_compat import safe_indexing
from jaxtree.table.encoder import Encoder
from jaxtree.table.probabilities import ClassProbabilities, ShareTarget, encode_probabilities
from jaxtree.table.reading import check_same_length, default_names, read_table
from jaxtree.table.schema import Schema
from jaxtree.table.sources import is_source, open_source
from jaxtree.table.target import ClassTarget, NumberTarget, encode_classes, encode_numbers
from jaxtree.table.weights import check_sample_weight, class_weights, rows_of_weight, weighted_shares

Target = ClassTarget | NumberTarget | ShareTarget


class TableOptions(NamedTuple):
    """How an estimator wants its table read.

    Attributes:
        encoder: An encoder that is fitted to the rows.
        of_classes: Whether targets are classes; else they are numbers.
        class_weight: The factors of the classes' weights, see `jaxtree.table.weights.class_weights`.
        counts: Set where targets must be counts: what their sum must be, such as "positive".
        held_out: The share of the rows that the model is not grown on, or None.
        seed: The seed of their choice.
        group: The group of every row of some weight, where the rows of one are held out together, and the loss asks
            for none.
    """

    encoder: Encoder
    of_classes: bool
    class_weight: Any = None
    counts: str | None = None
    held_out: float | None = None
    seed: Any = None
    group: Int[np.ndarray, " row"] | None = None


class Dataset(NamedTuple):
    """The rows of a fit, in codes.

    Attributes:
        sample: The rows that trees are grown on, of positive weight.
        codes: Their codes.
        schema: The meaning of the codes.
        encoder: The encoder of the table.
        whole: The rows of positive weight, with those held out.
        held: The rows that the model is validated with, if there are any.
        has_weight: Which rows of the table have some weight; None if all have.
        given_names: The names of the columns if they came with the table.
        exchange: How the processes that have parts of the rows know of one another.
        all_rows: The rows of all processes; None if these are those of the sample.
    """

    sample: Sample
    codes: UInt[np.ndarray, "feature row"]
    schema: Schema
    encoder: Encoder
    whole: Sample
    held: Sample | None = None
    has_weight: Bool[np.ndarray, " row"] | None = None
    given_names: tuple[str, ...] | None = None
    exchange: Exchange = LONE
    all_rows: AllRows | None = None

    @property
    def target(self) -> Real[np.ndarray, "output row"]:
        """Classes as codes, or their shares, or numbers."""
        return self.sample.target

    @property
    def outputs(self) -> Outputs:
        """The outputs of the target."""
        return self.sample.outputs

    @property
    def num_classes(self) -> tuple[int, ...]:
        """The number of classes of every output; empty for numbers."""
        return self.sample.outputs.num_classes

    @property
    def weight(self) -> Weights:
        """The weight of every row; None is 1."""
        return self.sample.weight

    @property
    def fields(self) -> Fields:
        """The further data of rows, by name."""
        return self.sample.fields

    @property
    def num_rows(self) -> int:
        """The number of rows, of all processes."""
        return self.sample.num_rows if self.all_rows is None else self.all_rows.num_rows

    @property
    def all_weights(self) -> Weights:
        """The weights of the rows, of all processes."""
        return self.sample.weight if self.all_rows is None else self.all_rows.weight

    def with_weight(self, weight: Weights) -> "Dataset":
        """Returns the rows with other weights."""
        return self._replace(sample=self.sample._replace(weight=weight))

    def digest(self, *more: Shaped[np.ndarray, " _more"] | None) -> str:
        """Returns a digest of the rows that trees are grown on, by which a later fit knows whether its rows are these.

        It is of the codes in their order, of the numbers in their bins, and of the targets.

        Args:
            more: Further arrays that are to be the same, such as the weights.
        """
        found = hashlib.blake2b(digest_size=16)
        parts = [self.codes, self.target, *more]
        bins = self.schema.columns.bins
        parts += [bins.num_bins, bins.low, bins.high]
        for part in parts:
            found.update(b"" if part is None else repr(part.shape).encode())
            found.update(b"" if part is None else np.ascontiguousarray(part).data)
        return found.hexdigest()


def read_dataset(
    X: Any, y: Any, sample_weight: Any, options: TableOptions, *, same_as: Dataset | None = None
) -> Dataset:
    """Reads the arguments of a fit; see `read_sample` and `encode_sample`."""
    return encode_sample(read_sample(X, y, sample_weight, options), options, same_as=same_as)


def read_sample(
    X: Any,
    y: Any,
    sample_weight: Any,
    options: TableOptions,
    *,
    fields: Mapping[str, Any] | None = None,
    exchange: Exchange = LONE,
) -> Sample:
    """Reads target, weights and fields of a fit.

    Args:
        X: A table, or a source.
        y: Its target.
        sample_weight: The weight of every row.
        options: How the estimator wants them read.
        fields: The further data of rows, by name; None where a model takes nothing else.
        exchange: How the processes that have parts of the rows know of one another.

    Raises:
        InvalidInputError: The target, the weights or a field is not allowed.
    """
    given, target = exchange.agree(_read_target, X, y, sample_weight, options, fields)
    if not isinstance(exchange, SharedExchange):
        return sample_of(given, target, options)
    target, counts = exchange.common_target(target)
    if isinstance(options.class_weight, str):
        weight = exchange.agree(check_sample_weight, given.sample_weight, target.num_rows)
        counts = _counts_by_weight(weight, target, counts, exchange)
    sample = exchange.agree(sample_of, given, target, options, counts)
    return _with_common_fields(sample, given, exchange)


def encode_sample(
    sample: Sample,
    options: TableOptions,
    *,
    held: Sample | None = None,
    same_as: Dataset | None = None,
    encoder: Encoder | None = None,
    exchange: Exchange = LONE,
) -> Dataset:
    """Encodes what a model learns from: rows of some weight, without those held out.

    Args:
        sample: The rows.
        options: How the estimator wants them read.
        held: Rows to validate with; if not given, the share that the options name.
        same_as: A dataset of the same rows, read with an encoder of the same parameters, whose codes are taken.
        encoder: A fitted encoder, if the columns are known.
        exchange: How the processes that have parts of the rows know of one another.
    """
    whole = grown_on = sample.without_weightless_rows()
    is_given = held is not None
    if held is None and options.held_out is not None:
        grown_on, held = whole.split(options.held_out, options.seed, options.group)
    if same_as is not None and grown_on is sample:
        encoder, codes, names = same_as.encoder, same_as.codes, same_as.given_names
    else:
        is_whole = not isinstance(exchange, SharedExchange) and not is_source(grown_on.X)
        X: Any = read_table(grown_on.X) if is_whole else grown_on.X  # the parts of other processes are read together
        if encoder is not None:
            codes = encoder.transform(X)
        else:
            encoder = options.encoder
            codes = exchange.encode(encoder, X, grown_on.num_rows)
        names = encoder.schema_.column_names
        if is_whole:
            is_named = X.is_named
        elif isinstance(exchange, SharedExchange):
            is_named = names != default_names(len(names))
        else:
            is_named = bool(open_source(X).names)
        names = names if is_named else None
    check_same_length(codes.shape[1], grown_on.target[0])
    if held is not None and is_given:
        check_same_length(len(encoder.values(held.X)), held.target[0])
    has_weight = None if whole is sample or sample.weight is None else sample.weight > 0
    all_rows = None
    if isinstance(exchange, SharedExchange):
        all_rows = exchange.all_rows(grown_on.num_rows, grown_on.weight)
    return Dataset(grown_on, codes, encoder.schema_, encoder, whole, held, has_weight, names, exchange, all_rows)


def sample_of(
    given: FitArguments, target: Target, options: TableOptions, counts: list[Int[np.ndarray, " class"]] | None = None
) -> Sample:
    """Returns the rows with their weights, which those of their classes multiply.

    Args:
        given: The arguments of a fit.
        target: The target in codes.
        options: How the estimator wants them read.
        counts: The rows of every class, an array an output, where the target has a part of the rows only.
    """
    weight = check_sample_weight(given.sample_weight, target.num_rows)
    if isinstance(target, NumberTarget):
        codes, factor = target.values, None
        check_sums(codes, weight)
    elif isinstance(target, ShareTarget):
        codes, factor = weighted_shares(options.class_weight, target, weight)
    else:
        codes, factor = target.codes, class_weights(options.class_weight, target, counts, weight)
    if factor is not None:
        weight = factor if weight is None else weight * factor
    fields = read_fields(given.fields, target.num_rows)
    return Sample(given.X, codes, Outputs.of(target), weight, fields, given.beside)


def _read_target(
    X: Any, y: Any, sample_weight: Any, options: TableOptions, fields: Mapping[str, Any] | None
) -> tuple[FitArguments, Target]:
    """Returns the arguments with the columns of a source in place of their names, and the target in codes."""
    given = read_arguments(X, y, sample_weight, fields)
    if options.of_classes and isinstance(given.y, ClassProbabilities):
        return given, encode_probabilities(given.y)
    if options.of_classes:
        return given, _classes_of(given)
    target = encode_numbers(given.y)
    if options.counts is not None:
        check_counts(target.values, target.values.sum(), options.counts)
    return given, target


def _classes_of(given: FitArguments) -> ClassTarget:
    """Returns the classes of the rows of weight; other rows have a negative code."""
    there = None if is_source(given.X) else rows_of_weight(given.sample_weight, given.y)
    target = encode_classes(given.y if there is None else safe_indexing(given.y, np.flatnonzero(there)))
    note_identifiers(target)
    if there is None:
        return target
    codes = np.full((len(target.codes), len(there)), -1, np.int32)
    codes[:, there] = target.codes
    return dataclasses.replace(target, codes=codes)


def _counts_by_weight(weight: Weights, target: ClassTarget, counts: list | None, exchange: Exchange) -> list | None:
    """Returns the weight of every class in the rows of all processes, an array an output; else the counts."""
    of_all = exchange.join_weights(weight)
    if of_all is None:
        return counts
    there, codes = np.flatnonzero(of_all), exchange.join(target.codes)
    outputs = zip(codes, target.classes, strict=True)
    return [np.bincount(own[there], of_all[there], len(classes)) for own, classes in outputs]


def _with_common_fields(sample: Sample, given: FitArguments, exchange: SharedExchange) -> Sample:
    """Returns rows whose groups have the numbers that they have among the rows of all processes.

    Raises:
        InvalidInputError: Processes have other fields.
    """
    exchange.check_same(" ".join(sorted(sample.fields)), "what the loss asks for must be given in all processes")
    if "group" not in sample.fields:
        return sample
    return sample._replace(fields={**sample.fields, "group": exchange.common_groups(given.fields["group"])})
