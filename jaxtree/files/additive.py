"""Records of additive models in files: their terms, from which their trees are made anew."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from jaxtree.additive.model import AdditiveModel
from jaxtree.files.boosting import require_times_of_loss
from jaxtree.files.records import check, require, require_finite
from jaxtree.files.trees import FittedTable
from jaxtree.kernels.layout import Layout, TermKind
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.schema import Schema


@dataclasses.dataclass(frozen=True, eq=False)
class TermArrays:
    """The arrays of an `AdditiveModel` that files keep: all but its columns."""

    layout: Layout
    intercept: Float64[np.ndarray, " score"]
    values: Float64[np.ndarray, "place score"]
    errors: Float64[np.ndarray, "place score"]
    weight: Float64[np.ndarray, " place"]

    @classmethod
    def of(cls, model: AdditiveModel) -> "TermArrays":
        """The terms of a model."""
        return cls(**{field.name: getattr(model, field.name) for field in dataclasses.fields(cls)})

    def model(self, schema: Schema) -> AdditiveModel:
        """Returns the model; raises ModelFileError if its terms are not those of such columns."""
        _check_terms(self.layout, schema)
        return AdditiveModel(schema, **vars(self))


class EditRecord(NamedTuple):
    """A change by hand.

    Attributes:
        words: The change in words.
        before: The terms before it.
    """

    words: str
    before: TermArrays


@dataclasses.dataclass(frozen=True, eq=False)
class AdditiveState:
    """All that an additive model learns in fit.

    Attributes:
        table: The columns and the target.
        terms: The terms.
        bag_values: The values of every bag.
        num_rounds: The rounds of every bag, of columns and of pairs.
        loss: The loss, a `BaseLoss`.
        survival: The event times and hazards of a fit of survival times; None of other losses.
        edits: The changes since the fit.
    """

    table: FittedTable
    terms: TermArrays
    bag_values: Float64[np.ndarray, "bag place score"]
    num_rounds: Int64[np.ndarray, "bag stage"]
    loss: Any
    survival: EventTimes | None
    edits: tuple[EditRecord, ...]


def _check_terms(layout: Layout, schema: Schema) -> None:
    """Raises ModelFileError unless the terms divide the codes of the features as those of a fit do."""
    features, is_pair = layout.features, layout.kind == TermKind.PAIR
    is_feature = ((features >= np.where(is_pair, 0, [[0], [-1]]).T) & (features < schema.num_features)).all()
    require(is_feature, f"a term is of none of the {schema.num_features} features that there are")
    num_codes = schema.num_values.astype(np.int64) + 1
    require(layout.bins.shape[2] >= num_codes.max(), "its terms do not have a bin for every code")
    is_subset = layout.kind == TermKind.SUBSET
    fits = is_pair | (is_subset == schema.is_categorical[features[:, 0]])
    require(fits.all(), "a term divides a feature in a way that is not for its kind")
    for term, kind in enumerate(layout.kind.tolist()):
        for axis, feature in enumerate(features[term].tolist()):
            if feature < 0:
                require(layout.num_bins[term, axis] == 1, "a term of one feature has bins of a second one")
                continue
            bins = layout.bins[term, axis, : num_codes[feature]].astype(np.int64)
            steps = np.diff(bins if kind == TermKind.ORDERED or not schema.is_categorical[feature] else np.unique(bins))
            known, last = bins[:-1], layout.num_bins[term, axis] - 1
            is_whole = bins.min() == 0 and bins[-1] == last and (known < last).all() and np.isin(steps, (0, 1)).all()
            require(is_whole, "the bins of a term do not divide the codes of its feature, missing values apart")


@check.register
def _(layout: Layout) -> None:
    require(layout.num_terms, "it has no terms")
    require(np.isin(layout.kind, list(TermKind)).all(), "a term is of no kind")
    is_single = layout.kind != TermKind.PAIR
    require(((layout.features[:, 1] == -1) == is_single).all(), "a term has more or fewer features than its kind")
    directions = np.where(layout.kind == TermKind.ORDERED, layout.monotone, 0)
    require((directions == layout.monotone).all() and (np.abs(directions) <= 1).all(), "a term rises in no direction")
    most = layout.bins.shape[2]
    require((layout.num_bins >= 1).all() and (layout.num_bins <= most).all(), "a term has an impossible number of bins")
    require((layout.bins < layout.num_bins[:, :, None]).all(), "a code has a bin that its term does not have")


@check.register
def _(terms: TermArrays) -> None:
    sizes = terms.layout.num_bins.astype(np.int64).prod(axis=1)
    require(sizes.sum() == len(terms.weight), "it does not have one value a bin")
    require_finite(terms, "intercept", "values", "errors", "weight")
    for name in ("errors", "weight"):
        require((getattr(terms, name) >= 0).all(), f"{name} has a value that is negative")


@check.register
def _(state: AdditiveState) -> None:
    num_scores = state.terms.intercept.size
    require_finite(state, "bag_values")
    require(isinstance(state.loss, BaseLoss), "its loss is none")
    require(state.loss.num_scores == num_scores, "its loss has another number of scores")
    fits = len(state.bag_values) == len(state.num_rounds) >= 1
    fits = fits and state.bag_values.shape[1:] == state.terms.values.shape
    require(fits and (state.num_rounds >= 0).all(), "its bags are not those of its terms")
    fits = all(edit.before.intercept.size == num_scores for edit in state.edits)
    require(fits, "it was changed from a model with another number of scores")
    require_times_of_loss(state.survival, state.loss)
