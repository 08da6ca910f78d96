"""Predictions from scores in other programs: every export predicts what `predict` does, or says that it cannot."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtree
from jaxtree import boosting
from jaxtree.errors import InvalidInputError
from jaxtree.export.formulas import formula_of
from jaxtree.export.programs import to_c, to_jax_export
from jaxtree.export.sql import to_sql
from jaxtree.losses.links import link_of
from tests.examples import lopsided
from tests.export.running import as_frame, c_rows, compile_c
from tests.export.test_dialects import run_duckdb, run_sqlite
from tests.export.test_shipping import compiler
from tests.marks import rest_is_slow

__all__ = ["compiler"]

LEVELS = [0.3, 0.5, 0.7]


def softplus(scores):
    return jax.nn.softplus(scores)


def spread(scores):
    return jnp.stack([scores[0] - jnp.exp(scores[1]), jnp.sum(scores, axis=0) ** 2])


def two_scores(scores, target, extras):
    return (scores[0] - target) ** 2 + 0.1 * (scores[1] - 0.1 * target) ** 2


def by_halves(scores):
    return jnp.floor(2 * scores) / 2


LOSSES = {
    "quantiles": boosting.quantiles(LEVELS),
    "lognormal": boosting.distributions.lognormal(),
    "weibull": boosting.distributions.weibull(),
    "beta": boosting.distributions.beta(),
    "gamma": boosting.distributions.gamma(),
    "negative_binomial": boosting.distributions.negative_binomial(),
    "student_t": boosting.distributions.student_t(),
    "poisson": boosting.poisson(),
    "cox": boosting.cox(),
    "accelerated_failure_time": boosting.accelerated_failure_time(scale=None),
    "softplus": boosting.Loss(lopsided, link=softplus, name="softplus"),
    "several": boosting.Loss(two_scores, num_scores=2, link=spread, name="several"),
    "floor": boosting.Loss(lopsided, link=by_halves, name="floor"),
    "targets": "squared_error",
}
REFUSED = {
    "sqlite": {"weibull": "lgamma", "floor": "floor"},
    "duckdb": {"floor": "floor"},
    "onnx": {"weibull": "lgamma", "floor": "floor"},
    "c": {"floor": "floor"},
    "jax": {},
    "treelite": dict.fromkeys(("quantiles", "lognormal", "weibull", "beta", "softplus", "several", "floor"), "links"),
}
"""Links whose functions a form does not have, and which these are."""


@functools.cache
def fitted(name):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 3))
    y = np.exp(0.5 * X[:, 0] + 0.5 * draw.normal(size=300))
    y = {"beta": y / (1 + y), "negative_binomial": np.floor(y), "targets": np.stack([y, -y], axis=1)}.get(name, y)
    extras = {"cox": {"event": y > 1}, "accelerated_failure_time": {"upper": y}}.get(name, {})
    few = {"n_estimators": 20, "max_depth": 3, "max_leaf_nodes": 8, "learning_rate": 0.3, "min_samples_leaf": 5}
    return jaxtree.GradientBoostingRegressor(**few, loss=LOSSES[name]).fit(X, y, **extras), X


def in_sql(dialect, run):
    def said(model, X, tmp_path, compiler):
        number = model.predict(X[:1]).size
        texts = [to_sql(model, dialect=dialect, score=None if number == 1 else place) for place in range(number)]
        return np.array([run(text, as_frame(X)) for text in texts]).T

    return said


def in_onnx(model, X, tmp_path, compiler):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(jaxtree.to_onnx(model, dtype=np.float64).SerializeToString())
    said = dict(zip([output.name for output in session.get_outputs()], session.run(None, {"X": X}), strict=True))
    np.testing.assert_array_equal(said["scores"], model.raw_scores(X))
    if "variable" not in said:
        raise InvalidInputError("scores alone")
    return said["variable"]


def in_c(model, X, tmp_path, compiler):
    library = compile_c(compiler, to_c(model), tmp_path)
    np.testing.assert_array_equal(
        c_rows(library, library.tree_scores, model, X, model.start_.size), model.raw_scores(X)
    )
    if not hasattr(library, "tree_predict"):
        raise InvalidInputError("scores alone")
    return c_rows(library, library.tree_predict, model, X, model.predict(X[:1]).size)


def in_jax(model, X, tmp_path, compiler):
    return to_jax_export(model).call(X.astype(np.float32))[0]


def in_treelite(model, X, tmp_path, compiler):
    treelite = pytest.importorskip("treelite")
    return treelite.gtil.predict(jaxtree.to_treelite(model), X)


FORMS = {
    "sqlite": in_sql("sqlite", run_sqlite),
    "duckdb": in_sql("duckdb", run_duckdb),
    "onnx": in_onnx,
    "c": in_c,
    "jax": in_jax,
    "treelite": in_treelite,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", rest_is_slow(LOSSES, 4))
def test_every_form_predicts_what_predict_does(name, form, tmp_path, compiler):
    model, X = fitted(name)
    rows = X[:60].astype(np.float32).astype(np.float64)
    if name in REFUSED[form]:
        with pytest.raises(InvalidInputError):
            FORMS[form](model, rows, tmp_path, compiler)
        return
    expected = model.predict(rows).reshape(len(rows), -1)
    said = np.reshape(FORMS[form](model, rows, tmp_path, compiler), expected.shape)
    single = {"rtol": 2e-5, "atol": 1e-5} if form == "jax" else {"rtol": 1e-11}
    np.testing.assert_allclose(said, expected, **single)


def test_quantiles_of_the_law_cross():
    model, X = fitted("quantiles")
    assert (np.diff(model.raw_scores(X), axis=1) < 0).any()
    assert (np.diff(model.predict(X), axis=1) >= 0).all()


def test_sql_names_the_way_to_scores_where_it_has_no_link():
    model, X = fitted("weibull")
    with pytest.raises(InvalidInputError, match=r"give score=<number>"):
        to_sql(model)
    for score in (0, 1):
        said = run_sqlite(to_sql(model, score=score), as_frame(X[:20]))
        np.testing.assert_allclose(said, model.raw_scores(X[:20])[:, score], rtol=1e-12)
    with pytest.raises(InvalidInputError, match="score must be from 0 to 2"):
        to_sql(fitted("quantiles")[0], score=3)


def test_treelite_names_the_forms_that_have_other_links():
    pytest.importorskip("treelite")
    with pytest.raises(InvalidInputError, match=r"identity, exponential, logistic and softmax.*take to_onnx"):
        jaxtree.to_treelite(fitted("quantiles")[0])


def test_sql_says_the_class_of_scores_that_round_to_one_half():
    """Steps that cancel out leave a rest, whose probability is one half: the first class, as `predict` has it."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = jaxtree.GradientBoostingClassifier(n_estimators=1, max_depth=1, min_samples_leaf=1, min_child_weight=0)
    model.fit(X, [0, 1, 0, 1])
    for score in (0.0, 2.0**-54, 2.0**-53, 1.5 * 2.0**-53, np.nextafter(1.5 * 2.0**-53, 1), 2.0**-52, -(2.0**-53)):
        steps = np.full_like(model.start_, score)
        model.set_trees(model.forest_, steps, np.zeros((model.forest_.nodes.node_count, 1)))
        assert run_sqlite(to_sql(model), as_frame(X)) == model.predict(X).tolist()


def test_a_link_that_jax_does_not_trace_is_no_formula():
    loss = boosting.Loss(lopsided, link=lambda scores: np.asarray(scores) + 1)
    assert formula_of(link_of(loss, None), 1, {"add"}) is None
    assert formula_of(link_of(LOSSES["floor"], None), 1, {"mul", "div"}) is None
