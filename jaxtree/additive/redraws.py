r"""Additive models of rows whose residuals are drawn again: what a fit would have been on other rows of the same table.

A *draw* boosts the terms of a fitted model anew, by its rules and as many rounds, on the rows of the fit. In place of a
row's gradient $g_i(s)$ at scores $s$ it has

$$g_i(s) - g_i(\bar s) + (c_i / w_i - 1) \, g_i(\hat s),$$

where $\hat s$ are the fitted scores, $w_i$ is the weight of the row, and $c_i$ is drawn from the distribution of
Poisson with mean $w_i$: how often the row is drawn where a row of weight 2 is two rows. So the scores $\bar s$ are the
*truth* of a draw, which it knows only with the noise that residuals have. With squared errors this is the wild
bootstrap (Wu, *Jackknife, bootstrap and other resampling methods in regression analysis*, Annals of Statistics 14,
1986), with other losses that of scores (Kline and Santos, *A score based approach to wild bootstrap inference*, Journal
of Econometric Methods 1, 2012). Rows keep their place and no class can vanish.

Boosting that ends early pulls curves towards 0, and bootstraps of rows do not see it: their truth is pulled, too. Here
the truth is known, so that draws miss it by noise and by this bias, together. It is the fit with its own shrinkage
taken back once (twicing): $\bar s = \hat s + (\hat s - z)$, where $z$ is what boosting makes of $\hat s$ without noise.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float64, Int64

from jaxtree.additive.bags import BagRows, FitData, SharedRows
from jaxtree.additive.fit import rules_of_mains, weights_of_bins
from jaxtree.additive.loop import NOT_SHARED, boost_rounds
from jaxtree.additive.model import AdditiveModel
from jaxtree.additive.purify import purify
from jaxtree.additive.row_loss import NewtonRows, RowLoss, SquaredErrors, TiltedRows, is_quadratic
from jaxtree.additive.rules import AdditiveConfig, AdditiveRules
from jaxtree.blocks import in_threads
from jaxtree.cores import num_cores
from jaxtree.devices import in_callers_context
from jaxtree.kernels.layout import Layout
from jaxtree.table.redraws import RedrawnRows


class Redraws(NamedTuple):
    """The draws of a fit.

    Attributes:
        truth: The model that draws are made around.
        intercepts: The mean scores of every draw.
        values: The contribution of every bin to the scores, in every draw.
    """

    truth: AdditiveModel
    intercepts: Float64[np.ndarray, "draw score"]
    values: Float64[np.ndarray, "draw place score"]


class _Stage(NamedTuple):
    """Terms that are boosted together, by which rules and for how many rounds."""

    layout: Layout
    rules: AdditiveRules
    num_rounds: float


def redraw(
    data: FitData,
    config: AdditiveConfig,
    model: AdditiveModel,
    num_rounds: Int64[np.ndarray, "bag stage"],
    drawn: RedrawnRows,
    number: int,
    on_draw: Callable[[int], object] | None = None,
) -> Redraws:
    """Boosts the terms of a model on rows whose residuals are drawn again.

    The terms of pairs are those of the model: they are not chosen anew.

    Args:
        data: The rows of the fit.
        config: The parameters of the fit.
        model: The fitted model.
        num_rounds: The rounds of the fit: draws have their mean over the bags.
        drawn: How residuals are drawn.
        number: How many draws.
        on_draw: Called with 1 after each.
    """
    rules = rules_of_mains(SharedRows(data), config)
    whole = SharedRows(data._replace(bags=[BagRows(None, None)]), keeps_grams=True)
    stages, rounds = [], num_rounds.mean(axis=0).tolist()
    is_pair = model.layout.features[:, 1] >= 0
    for terms, own, most in zip((~is_pair, is_pair), (rules, config.pair_rules), [*rounds, 0.0], strict=False):
        if terms.any():
            stages.append(_Stage(model.layout.take(np.flatnonzero(terms)), own, most))
    fitted = _scores(model, data)
    refits = _Refits(whole, stages, model, fitted)
    pulled = refits.around(fitted)(None)
    refit, weight = refits.around(2 * fitted - _scores(pulled, data)), np.asarray(data.rows.weight, np.float64)

    def work(draw: int) -> AdditiveModel:
        made = refit(drawn.factors(draw, weight) - 1)
        if on_draw is not None:
            on_draw(1)
        return made

    made = in_threads(in_callers_context(work), range(number), num_threads=num_cores())
    return Redraws(
        _with_values(model, 2 * model.intercept - pulled.intercept, 2 * model.values - pulled.values),
        np.stack([own.intercept for own in made]),
        np.stack([own.values for own in made]),
    )


def is_of_rows(model: AdditiveModel, data: FitData) -> bool:
    """Returns whether rows have the weights in all bins that the rows of a model's fit had."""
    schemas = model.schema, data.schema
    sizes = [own.num_values.tolist() for own in schemas]
    return sizes[0] == sizes[1] and bool(np.array_equal(model.weight, weights_of_bins(model.layout, data)))


def losses_of(model: AdditiveModel, data: FitData) -> tuple[float, float]:
    """Returns the mean loss of a model on rows, and that of the start, which is a constant."""
    rows, scores = data.rows, _scores(model, data)
    with jax.enable_x64(True):
        own, plain = (
            float(data.loss.mean(at, rows.target, rows.weight, rows.extras))
            for at in (scores, np.broadcast_to(data.start[:, None], scores.shape))
        )
    return own, plain


def _with_values(
    model: AdditiveModel, intercept: Float64[np.ndarray, " score"], values: Float64[np.ndarray, "place score"]
) -> AdditiveModel:
    """Returns a model of the same terms with other values."""
    return AdditiveModel(model.schema, model.layout, intercept, values, np.zeros_like(values), model.weight)


def _scores(model: AdditiveModel, data: FitData) -> Float64[np.ndarray, "score row"]:
    """Returns the scores of the rows of the fit."""
    return (model.intercept + model.term_values(data.codes.codes).sum(axis=1)).T


Factors = Float64[np.ndarray, " row"] | None
"""By how much the residual of every row is multiplied; None for no noise."""


class _Refits:
    """Boostings of the terms of a model anew, on rows of which the truth is known but for noise.

    Args:
        shared: The rows.
        stages: The terms.
        model: The model.
        fitted: The fitted scores of rows, at which residuals are taken.
    """

    def __init__(
        self,
        shared: SharedRows,
        stages: list[_Stage],
        model: AdditiveModel,
        fitted: Float64[np.ndarray, "score row"],
    ):
        self.shared, self.stages, self.model, self.fitted = shared, stages, model, fitted

    def around(self, truth: Float64[np.ndarray, "score row"]) -> Callable[[Factors], AdditiveModel]:
        """Returns the function of the factors of residuals to the model that is boosted on them.

        Args:
            truth: The scores that are the truth.
        """
        data = self.shared.data
        rows_of = _squared_errors_around if is_quadratic(data.loss) else _tilted_rows_around
        make = rows_of(data, self.fitted, truth)
        return lambda factors: self._boosted(make(0.0 if factors is None else factors))

    def _boosted(self, row_loss: RowLoss) -> AdditiveModel:
        data, made, earlier = self.shared.data, [], None
        for stage in self.stages:
            scores = None if earlier is None else data.codes.row_scores(*earlier)
            grams = NOT_SHARED
            if row_loss.is_quadratic and earlier is None:
                grams = self.shared.grams(stage.layout, stage.rules, are_kept=True)(0)
            steps = boost_rounds(stage.layout, data.codes, row_loss, *stage[1:], scores=scores, grams=grams)
            made.append(steps * (row_loss.score_unit * row_loss.units[:, None]))
            earlier = stage.layout, steps
        intercept, values = purify(self.model.layout, np.concatenate(made, axis=1).T, self.model.weight)
        return _with_values(self.model, data.start + intercept, values)


def _squared_errors_around(
    data: FitData, fitted: Float64[np.ndarray, "score row"], truth: Float64[np.ndarray, "score row"]
) -> Callable[[Any], RowLoss]:
    """Returns the function that makes a draw: its targets are the truth plus the residuals, each times a factor."""
    target = np.asarray(data.rows.target, np.float64)
    offset = np.asarray(data.rows.extras.get("offset", 0.0), np.float64).T
    residual = target.reshape(len(target), -1).T - offset - fitted

    def make(factors: Any) -> RowLoss:
        drawn = (truth + offset + factors * residual).T.reshape(target.shape)
        return SquaredErrors(data.rows._replace(target=drawn), data.start, None)

    return make


def _tilted_rows_around(
    data: FitData, fitted: Float64[np.ndarray, "score row"], truth: Float64[np.ndarray, "score row"]
) -> Callable[[Any], RowLoss]:
    """Returns the function that makes a draw: its gradients at the truth are those at the fit, each times a factor."""
    plain = NewtonRows(data.loss, data.rows, data.start, None)
    residual, at_truth = plain.gradient_at(fitted), plain.gradient_at(truth)
    return lambda factors: TiltedRows(data.loss, data.rows, data.start, factors * residual - at_truth)
