"""Times until events: Cox's likelihood beside a slow loop, and times within bounds beside SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

from jaxtree.errors import InvalidInputError
from jaxtree.losses.survival import accelerated_failure_time, cox
from tests.losses.derivatives import check_derivatives, derive, evaluate, mean_of, numeric
from tests.marks import rest_is_slow

ROWS = np.random.default_rng(7)
NUMBER_OF_ROWS = 24
TIME = ROWS.integers(1, 8, size=NUMBER_OF_ROWS).astype(float)
EVENT = ROWS.integers(0, 2, size=NUMBER_OF_ROWS)
WEIGHT = ROWS.uniform(0.5, 2, size=NUMBER_OF_ROWS)
SCORES = ROWS.normal(size=(1, NUMBER_OF_ROWS))


def slow_cox(score, time, event, weight, ties):
    """Minus the log partial likelihood, event after event."""
    total = 0.0
    for at in np.unique(time[event > 0]):
        tied = (time == at) & (event > 0)
        at_risk = np.sum((weight * np.exp(score))[time >= at])
        leaving = np.sum((weight * np.exp(score))[tied])
        for number in range(tied.sum()):
            left_out = number / tied.sum() if ties == "efron" else 0
            total += weight[tied].mean() * np.log(at_risk - left_out * leaving)
        total -= np.sum((weight * score)[tied])
    return total


@pytest.mark.parametrize("ties", rest_is_slow(["efron", "breslow"]))
def test_cox_beside_a_slow_loop(ties):
    loss, extras = cox(ties), {"event": EVENT}
    assert max(np.sum((time == TIME) & (EVENT > 0)) for time in TIME) > 2
    slow = lambda score: slow_cox(score, TIME, EVENT, WEIGHT, ties)  # noqa: E731
    with jax.enable_x64(True):
        derivatives = derive(loss, SCORES, TIME, WEIGHT, extras)
        mean = mean_of(loss, SCORES, TIME, WEIGHT, extras)
        np.testing.assert_allclose(mean, slow(SCORES[0]) / WEIGHT.sum(), rtol=1e-9)
        values = np.sum(evaluate(loss, SCORES, TIME, extras))
    np.testing.assert_allclose(values, slow_cox(SCORES[0], TIME, EVENT, np.ones(NUMBER_OF_ROWS), ties), rtol=1e-9)
    for row, unit in enumerate(1e-4 * np.eye(NUMBER_OF_ROWS)):
        above, here, below = slow(SCORES[0] + unit), slow(SCORES[0]), slow(SCORES[0] - unit)
        np.testing.assert_allclose(derivatives.gradient[0, row], (above - below) / 2e-4, atol=1e-6)
        np.testing.assert_allclose(derivatives.hessian[0, row], (above - 2 * here + below) / 1e-8, atol=1e-5)


def test_weights_of_cox_count_rows_and_rows_of_weight_zero_are_not_there():
    times = ROWS.integers(0, 3, size=NUMBER_OF_ROWS)
    again = np.repeat(np.arange(NUMBER_OF_ROWS), times)
    loss = cox("breslow")
    with jax.enable_x64(True):
        weighted = derive(loss, SCORES, TIME, times.astype(float), {"event": EVENT})
        repeated = derive(loss, SCORES[:, again], TIME[again], np.ones(len(again)), {"event": EVENT[again]})
    sums = np.bincount(again, weights=repeated.gradient[0], minlength=NUMBER_OF_ROWS)
    np.testing.assert_allclose(weighted.gradient[0], sums, atol=1e-12)
    assert (np.asarray(weighted.hessian[0])[times == 0] == 0).all()


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_extreme_scores_and_padding_give_numbers(ties):
    time = np.append(TIME, [0.0, 1e9])
    extras = {"event": np.append(EVENT, [1, 0])}
    weight = np.append(np.ones(NUMBER_OF_ROWS), [0.0, 0.0])
    for size in (0.0, 1e2, 1e4):
        scores = jnp.asarray(size * ROWS.choice([-1, 1], size=(1, NUMBER_OF_ROWS + 2)), jnp.float32)
        derivatives = derive(cox(ties), scores, time, weight, extras)
        assert all(np.isfinite(part).all() and (part[0, -2:] == 0).all() for part in derivatives)
        np.testing.assert_allclose(np.sum(derivatives.gradient), 0, atol=1e-3 + 1e-5 * size)
        assert np.isfinite(mean_of(cox(ties), scores, time, weight, extras))


def test_cox_is_traced_once_for_equal_losses():
    traced = []

    def trace(scores, loss):
        traced.append(0)
        return loss.derivatives(scores, TIME, WEIGHT, {"event": EVENT})

    trace = jax.jit(trace, static_argnums=1)
    for loss in (cox(), cox("efron")):
        trace(jnp.zeros((1, NUMBER_OF_ROWS)), loss)
    assert len(traced) == 1 and cox("breslow") != cox()


LAWS = {"normal": scipy.stats.norm, "logistic": scipy.stats.logistic, "extreme": scipy.stats.gumbel_l}
LOWER = np.array([1.5, 0.3, 2.0, 0.5, 0.0, 0.0, 1.0, 2.0])
UPPER = np.array([1.5, 0.3, np.inf, np.inf, 0.7, 4.0, 2.0, 2.5])


def slow_loss(score, scale, distribution):
    """Minus the log probability of every row."""
    law = LAWS[distribution](score, scale)
    with np.errstate(divide="ignore"):
        low, high = np.log(LOWER), np.log(UPPER)
    probability = np.where(low > score, law.sf(low) - law.sf(high), law.cdf(high) - law.cdf(low))
    is_exact = LOWER == UPPER
    low = np.where(is_exact, low, 0)
    return np.where(is_exact, low - law.logpdf(low), -np.log(np.where(is_exact, 1, probability)))


@pytest.mark.parametrize("scale", rest_is_slow([None, 0.7]))
@pytest.mark.parametrize("distribution", LAWS)
def test_bounded_times_beside_scipy(distribution, scale):
    loss = accelerated_failure_time(distribution, scale)
    scores = np.stack([ROWS.normal(size=8), 0.3 * ROWS.normal(size=8)])[: loss.num_scores]
    sigma = scale or np.exp(scores[1])
    with jax.enable_x64(True):
        values = evaluate(loss, scores, LOWER, {"upper": UPPER})
        np.testing.assert_allclose(values, slow_loss(scores[0], sigma, distribution), rtol=1e-9)
    derivatives = check_derivatives(loss, scores, LOWER, {"upper": UPPER}, hessian=scale is not None)
    if scale is None:
        assert np.linalg.eigvalsh(np.moveaxis(np.asarray(derivatives.hessian), -1, 0)).min() >= 0
        with jax.enable_x64(True):
            curvature = numeric(lambda at: derive(loss, at, LOWER, np.ones(8), {"upper": UPPER}).gradient, scores)
        size = np.abs(np.linalg.eigvalsh(np.moveaxis(curvature, -1, 0))).max(1)
        found = np.moveaxis(np.asarray(derivatives.hessian) / np.linspace(0.5, 2, 8), -1, 0)
        np.testing.assert_allclose(np.linalg.eigvalsh(found).max(1), size, rtol=1e-5)
    else:
        assert (np.asarray(derivatives.hessian) > 0).all()


@pytest.mark.parametrize("scale", rest_is_slow([None, 0.7]))
@pytest.mark.parametrize("distribution", LAWS)
def test_the_start_is_the_best_constant(distribution, scale):
    loss = accelerated_failure_time(distribution, scale)
    start = loss.start(LOWER, np.ones(8), {"upper": UPPER})

    def cost(scores):
        return np.mean(slow_loss(scores[0], scale or np.exp(scores[1]), distribution))

    found = scipy.optimize.minimize(cost, np.zeros(loss.num_scores), method="Nelder-Mead", options={"xatol": 1e-7})
    np.testing.assert_allclose(start, found.x, atol=1e-4)


@pytest.mark.parametrize("distribution", LAWS)
def test_predictions_quantiles_and_survival(distribution):
    loss, law = accelerated_failure_time(distribution, 0.5), LAWS[distribution](0.3, 0.5)
    scores = jnp.full((1, 1), 0.3)
    np.testing.assert_allclose(loss.predict(scores), np.exp([[0.3]]), rtol=1e-6)
    for level in (0.1, 0.5, 0.9):
        np.testing.assert_allclose(loss.quantile(scores, level), np.exp(law.ppf(level)), rtol=1e-5)
    np.testing.assert_allclose(loss.cdf(scores, np.array([2.0])), law.cdf(np.log(2.0)), rtol=1e-5)


@pytest.mark.slow
def test_narrow_bounds_have_the_density_of_their_middle():
    """Their width lies between those at which either formula is exact to all digits."""
    lower, upper = np.array([2.0, 2.0]), np.array([2.0 * (1 + 0.9e-3), 2.0 * (1 + 1.1e-3)])
    for distribution, law in LAWS.items():
        loss = accelerated_failure_time(distribution)
        expected = -np.log(law.cdf(np.log(upper) - 0.3) - law.cdf(np.log(lower) - 0.3))
        with jax.enable_x64(True):
            values = evaluate(loss, np.full((1, 2), 0.3), lower, {"upper": upper})
            derivatives = derive(loss, np.full((1, 2), 0.3), lower, np.ones(2), {"upper": upper})
        np.testing.assert_allclose(values, expected, rtol=1e-6)
        assert np.ptp(derivatives.gradient) < 1e-3 and np.ptp(derivatives.hessian) < 1e-3


@pytest.mark.parametrize("far", [3.0, 7.9, 8.1, 30.0, 250.0])
def test_tails_of_the_normal_distribution_keep_their_digits(far):
    """Its hazard is above z by about 1 / z, and rises by about 1."""
    loss = accelerated_failure_time("normal")
    scores = jnp.full((1, 1), -far, jnp.float32)
    found = derive(loss, scores, np.ones(1), np.ones(1), {"upper": np.array([np.inf])})
    hazard = np.exp(scipy.stats.norm.logpdf(far) - scipy.stats.norm.logsf(far))
    np.testing.assert_allclose(found.gradient[0, 0], -hazard, rtol=1e-5)
    expected = hazard * (hazard - far) if far < 20 else 1 - 1 / far**2
    np.testing.assert_allclose(found.hessian[0, 0], expected, rtol=2e-3)


@pytest.mark.parametrize("scale", rest_is_slow([0.01, 1.0, None]))
@pytest.mark.parametrize("distribution", LAWS)
def test_far_times_give_numbers(distribution, scale):
    loss = accelerated_failure_time(distribution, scale)
    for size in (-1e4, -20.0, 20.0, 1e4):
        scores = jnp.full((loss.num_scores, 8), size, jnp.float32)
        derivatives = derive(loss, scores, LOWER, np.ones(8), {"upper": UPPER})
        assert all(np.isfinite(part).all() for part in derivatives)
        values = np.linalg.eigvalsh(np.moveaxis(derivatives.hessian.reshape(loss.num_scores, -1, 8), -1, 0))
        assert values.min() >= -1e-6 * values.max()
        assert np.isfinite(evaluate(loss, scores, LOWER, {"upper": UPPER})).all()


@pytest.mark.parametrize(
    "loss, target, extras, message",
    [
        (cox(), [1.0, 2.0], {}, r"cox\(ties='efron'\) needs the extra 'event' of every row, got \[\]"),
        (cox(), [1.0, 2.0], {"event": [0, 2]}, "the extra 'event' must be a whole number from 0 to 1, got 2"),
        (cox(), [1.0, 2.0], {"event": [0, 0]}, "the extra 'event' of some row must be above 0, got 0 in all 2 rows"),
        (cox(), [1.0, -2.0], {"event": [0, 1]}, r"cox\(.*\): a target must be 0 or more, got -2.0"),
        (accelerated_failure_time(), [1.0, 2.0], {"upper": [1.0, 1.5]}, "got 1.5 for the target 2.0"),
        (accelerated_failure_time(), [1.0, 0.0], {"upper": [1.0, 0.0]}, "got 0.0 for the target 0.0"),
        (accelerated_failure_time(), [1.0], {"upper": [np.nan]}, "got nan for the target 1.0"),
    ],
)
def test_wrong_rows_are_named(loss, target, extras, message):
    with pytest.raises(InvalidInputError, match=message):
        loss.check_fit(np.array(target), {name: np.array(values) for name, values in extras.items()})


def test_wrong_parameters_are_named():
    with pytest.raises(InvalidInputError, match="ties of cox must be 'efron' or 'breslow', got 'exact'"):
        cox("exact")
    with pytest.raises(InvalidInputError, match="must be one of 'normal', 'logistic', 'extreme', got gumbel"):
        accelerated_failure_time("gumbel")
    with pytest.raises(InvalidInputError, match="must be None or above 0, got 0"):
        accelerated_failure_time(scale=0)
