"""Every family of models under JAX's switches: results are those without, bit for bit.

Programs are traced anew under the switches, so that sets of them for all families are slow.
"""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtree
from jaxtree import boosting, switches
from jaxtree.compilation import PROGRAMS
from tests.marks import are_slow, rest_is_slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)).round(2)
X[::7, 1] = np.nan
Y = X[:, 0] + 0.1 * RNG.normal(size=120)
CLASSES = (Y > 0).astype(int)
FEW = {"n_estimators": 3, "max_depth": 2}
SOFT = {"depth": 2, "max_epochs": 2, "random_state": 0}
BAGS = {"outer_bags": 2, "max_rounds": 20, "interactions": 1}

STRICT = {
    "jax_numpy_dtype_promotion": "strict",
    "jax_numpy_rank_promotion": "raise",
    "jax_debug_infs": True,
    "jax_debug_nans": True,
    "jax_disable_jit": True,
    "jax_check_tracer_leaks": True,
    "jax_transfer_guard": "disallow",
    "jax_transfer_guard_device_to_host": "disallow",
    "jax_default_prng_impl": "rbg",
    "jax_threefry_partitionable": False,
}
SETS = {
    "compiled": {name: value for name, value in STRICT.items() if name != "jax_disable_jit"},
    "64 bits": {"jax_enable_x64": True},
    "bfloat16": {"jax_default_matmul_precision": "bfloat16"},
}
"""Switches in programs, and those that change numbers."""


def boosted(**options):
    return jaxtree.GradientBoostingRegressor(**FEW, **options)


def distilled():
    teacher = jaxtree.RandomForestClassifier(3, random_state=0)
    return jaxtree.distil(teacher, jaxtree.DecisionTreeClassifier(max_depth=3), X, CLASSES, cv=2)


def searched():
    search = jaxtree.SearchCV(jaxtree.GradientBoostingClassifier(**FEW), {"learning_rate": [0.1, 0.3]}, cv=2)
    return search.fit(X, CLASSES)


FAMILIES = {
    "tree": lambda: jaxtree.DecisionTreeClassifier(max_depth=3).fit(X, CLASSES).predict_proba(X),
    "pruned": lambda: (
        jaxtree.DecisionTreeRegressor(pruning=jaxtree.Dropout(0.1, 0.2), random_state=0).fit(X, Y).predict(X)
    ),
    "forest": lambda: jaxtree.RandomForestRegressor(3, random_state=0, max_depth=3).fit(X, Y).predict(X),
    "boosting": lambda: jaxtree.GradientBoostingClassifier(**FEW).fit(X, CLASSES).predict_proba(X),
    "numbers": lambda: boosted(loss="huber", monotonic_cst=[1, 0, 0]).fit(X, Y).predict(X),
    "counts": lambda: boosted(loss="poisson", subsample=0.5, random_state=0).fit(X, np.exp(Y)).predict(X),
    "hazards": lambda: boosted(loss="cox").fit(X, np.exp(Y), event=CLASSES).predict(X),
    "ranks": lambda: jaxtree.GradientBoostingRanker(**FEW).fit(X, CLASSES, group=np.arange(120) // 10).predict(X),
    "distributions": lambda: jaxtree.GradientBoostingDistribution(**FEW).fit(X, Y).predict_dist(X).crps(Y),
    "folds": lambda: boosted(early_stopping="cv", cv=2).fit(X, Y).predict(X),
    "refit": lambda: boosted().fit(X, Y).refit(X[::2], Y[::2]).predict(X),
    "soft tree": lambda: jaxtree.SoftTreeClassifier(**SOFT).fit(X, CLASSES).predict_proba(X),
    "soft numbers": lambda: jaxtree.SoftTreeRegressor(**SOFT, loss="normal").fit(X, Y).predict(X),
    "soft forest": lambda: jaxtree.SoftForestRegressor(2, **SOFT).fit(X, Y).predict(X),
    "hardened": lambda: jaxtree.SoftTreeRegressor(**SOFT).fit(X, Y).harden().predict(X),
    "additive": lambda: jaxtree.ExplainableBoostingClassifier(**BAGS).fit(X, CLASSES).predict_proba(X),
    "additive medians": lambda: (
        jaxtree.ExplainableBoostingRegressor(**BAGS, loss="absolute_error").fit(X, Y).predict(X)
    ),
    "optimal": lambda: jaxtree.OptimalTreeClassifier(max_depth=2).fit(X, CLASSES).predict(X),
    "distilled": lambda: distilled().predict(X),
    "search": lambda: searched().predict(X),
    "Shapley values": lambda: jaxtree.explain.shap_values(boosted().fit(X, Y), X[:9])[0],
    "page": lambda: jaxtree.to_html(jaxtree.DecisionTreeRegressor(max_depth=2).fit(X, Y), X, Y),
}
FAST = ("tree", "forest", "numbers", "additive", "soft tree", "folds")
OF_JAX_S_PRECISION = ["soft tree", "soft numbers", "soft forest", "hardened"]
"""Families that compute in the precision that JAX is set to."""


@contextlib.contextmanager
def switched(values):
    """Sets JAX's switches for the whole process, without programs that were traced before."""
    before = {name: getattr(jax.config, name) for name in values}
    PROGRAMS.clear()
    jax.clear_caches()
    try:
        for name, value in values.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


@pytest.mark.parametrize("family", are_slow(FAMILIES, *set(FAMILIES) - set(FAST)))
def test_results_are_those_without_switches(family):
    usual = FAMILIES[family]()
    with switched(STRICT):
        np.testing.assert_array_equal(FAMILIES[family](), usual)
        assert not switches.are_own()


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_results_in_programs_are_those_without_switches(name):
    usual = {family: make() for family, make in FAMILIES.items()}
    with switched(SETS[name]):
        for family, make in FAMILIES.items():
            result = make()
            if name != "64 bits" or family not in OF_JAX_S_PRECISION:
                np.testing.assert_array_equal(result, usual[family])


@pytest.mark.slow
def test_fine_tuning_under_switches():
    model = boosted().fit(X, Y)
    with switched(STRICT):
        assert np.isfinite(jaxtree.fine_tune(model, X, Y).predict(X)).all()


LOSSES = [
    boosting.squared(),
    boosting.huber(),
    boosting.quantiles([0.1, 0.9]),
    boosting.logistic(),
    boosting.softmax(3, "full"),
    boosting.cox(),
    boosting.distributions.lognormal(),
    boosting.distributions.student_t(),
]


@pytest.mark.parametrize("loss", rest_is_slow(LOSSES, 3))
def test_losses_of_arrays(loss):
    scores, weight = jnp.zeros((loss.num_scores, 3)), jnp.ones(3)
    target = jnp.array([1, 0, 1]) if loss.name in ("logistic", "softmax") else jnp.array([1.0, 2.0, 3.0])
    extras = {"event": jnp.array([1, 0, 1])} if loss.needs else {}
    usual = loss.derivatives(scores, target, weight, extras), loss.mean(scores, target, weight, extras)
    strict = {name: value for name, value in STRICT.items() if "guard" not in name and "jit" not in name}
    with switched(strict):
        found = loss.derivatives(scores, target, weight, extras), loss.mean(scores, target, weight, extras)
    jax.tree.map(np.testing.assert_array_equal, found, usual)


def test_a_loss_of_one_s_own_may_promote_types():
    def lopsided(scores, target, extras):
        error = scores[0] - target
        return jnp.where(error > 0, jnp.int32(5), 1.0) * error**2

    model = boosted(loss=boosting.Loss(lopsided))
    usual = model.fit(X, Y).predict(X)
    with switched(STRICT):
        np.testing.assert_array_equal(model.fit(X, Y).predict(X), usual)
