"""Bands of all models that have them: laws of rows, weights, groups, names, units, files and seeds, and errors.

Laws of one kind alone stand in the `test_bands.py` of its room.
"""

import functools
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import jaxtree
from jaxtree import (
    ExplainableBoostingClassifier,
    ExplainableBoostingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingDistribution,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SurvivalForest,
    to_html,
)
from jaxtree.errors import InvalidInputError
from jaxtree.figures.dependence import dependence_on, limits_on
from jaxtree.kernels import library
from jaxtree.plot import plot_dependence
from tests.marks import are_slow, rest_is_slow
from tests.page.pages import told_by

NUM_ROWS = 150
DRAWN = {"level": 0.8, "draws": 10}
CHILD = "from tests.estimators import test_bands; test_bands.print_numbers()"


@functools.cache
def table():
    generator = np.random.default_rng(3)
    age = generator.uniform(20, 70, NUM_ROWS).round()
    X = pd.DataFrame({
        "age": np.where(np.arange(NUM_ROWS) % 10 == 0, np.nan, age),
        "job": generator.choice(["mill", "sea", "none"], NUM_ROWS),
    })  # fmt: skip
    scores = np.sin(age / 10) + (X["job"] == "sea").to_numpy() * 0.5
    return X, scores + generator.normal(size=NUM_ROWS) * 0.5


def as_it_is(y):
    return y


def of_two(y):
    return np.where(y > 0, "yes", "no")


def of_three(y):
    return np.digitize(y, [-0.5, 0.5])


def of_counts(y):
    return np.exp(y).round()


def of_outputs(y):
    return np.stack([y, -y], axis=1)


def of_class_outputs(y):
    return np.stack([of_three(y), y > 0], axis=1)


BOOSTED = {"n_estimators": 8, "max_leaf_nodes": 4}
ADDITIVE = {"interactions": 0, "outer_bags": 2}
FOREST = {"n_estimators": 12, "random_state": 0}
EVENTS = {"event": np.arange(NUM_ROWS) % 3 > 0}
KINDS = {
    "boosted": (GradientBoostingRegressor, BOOSTED, as_it_is, {}),
    "boosted two": (GradientBoostingClassifier, BOOSTED, of_two, {}),
    "boosted three": (GradientBoostingClassifier, BOOSTED, of_three, {}),
    "boosted times": (GradientBoostingRegressor, {**BOOSTED, "loss": "cox"}, np.exp, EVENTS),
    "boosted counts": (GradientBoostingRegressor, {**BOOSTED, "loss": "poisson"}, of_counts, {}),
    "boosted medians": (GradientBoostingRegressor, {**BOOSTED, "loss": "absolute_error"}, as_it_is, {}),
    "boosted folds": (GradientBoostingRegressor, {**BOOSTED, "early_stopping": "cv", "cv": 3}, as_it_is, {}),
    "boosted stopped": (
        GradientBoostingRegressor,
        {**BOOSTED, "early_stopping": True, "random_state": 0},
        as_it_is,
        {},
    ),
    "boosted outputs": (GradientBoostingRegressor, BOOSTED, of_outputs, {}),
    "boosted ranks": (GradientBoostingRanker, BOOSTED, of_three, {"group": np.arange(NUM_ROWS) // 10}),
    "boosted distribution": (GradientBoostingDistribution, BOOSTED, as_it_is, {}),
    "additive": (ExplainableBoostingRegressor, {**ADDITIVE, "interactions": 1}, as_it_is, {}),
    "additive two": (ExplainableBoostingClassifier, ADDITIVE, of_two, {}),
    "additive three": (ExplainableBoostingClassifier, ADDITIVE, of_three, {}),
    "additive times": (ExplainableBoostingRegressor, {**ADDITIVE, "loss": "cox"}, np.exp, EVENTS),
    "additive counts": (ExplainableBoostingRegressor, {**ADDITIVE, "loss": "poisson"}, of_counts, {}),
    "forest": (RandomForestRegressor, FOREST, as_it_is, {}),
    "forest two": (ExtraTreesClassifier, FOREST, of_two, {}),
    "forest three": (RandomForestClassifier, {**FOREST, "class_weight": "balanced"}, of_three, {}),
    "forest times": (SurvivalForest, FOREST, np.exp, EVENTS),
    "forest counts": (RandomForestRegressor, {**FOREST, "criterion": "poisson"}, of_counts, {}),
    "forest honest": (RandomForestRegressor, {**FOREST, "honest": True}, as_it_is, {}),
    "forest subsample": (RandomForestClassifier, {**FOREST, "class_weight": "balanced_subsample"}, of_three, {}),
    "forest factors": (ExtraTreesClassifier, {**FOREST, "class_weight": {0: 5, 1: 0}}, of_three, {}),
    "forest outputs": (RandomForestRegressor, FOREST, of_outputs, {}),
    "forest class outputs": (RandomForestClassifier, FOREST, of_class_outputs, {}),
    "forest scored": (RandomForestRegressor, {**FOREST, "oob_score": True, "n_estimators": 60}, as_it_is, {}),
    "forest of one tree": (ExtraTreesRegressor, {**FOREST, "n_estimators": 1}, as_it_is, {}),
}
FIRST = ["boosted", "additive", "forest", "forest times"]
"""A kind of each way to draw; draws of times, the last, take seconds."""
ALSO = ["boosted three", "boosted folds", "additive two", "forest two", "forest three"]
"""Kinds of the slow step."""
of_drawn = pytest.mark.parametrize("kind", rest_is_slow([*FIRST, *ALSO], len(FIRST) - 1))
of_shown = pytest.mark.parametrize("kind", rest_is_slow([*FIRST, *ALSO], len(FIRST)))


def unfitted(kind, **more):
    make, params, _, _ = KINDS[kind]
    return make(**{**params, **more})


def target_of(kind):
    return KINDS[kind][2](table()[1])


@functools.cache
def fitted(kind):
    return unfitted(kind).fit(table()[0], target_of(kind), **KINDS[kind][3])


def drawn(kind, model=None, **given):
    """Draws the bands of a model of the table; of the fitted one if none is given."""
    model = model or fitted(kind)
    return model.bands(table()[0], target_of(kind), **{**DRAWN, **KINDS[kind][3], **given})


@functools.cache
def bands_of(kind):
    return drawn(kind)


def other_than(kind):
    """The fitted model of another kind."""
    return fitted("forest" if kind != "forest" else "boosted")


def is_additive(kind):
    return kind.startswith("additive")


def is_forest(kind):
    return kind.startswith("forest")


def near(kind):
    """The rounding of predictions: those of additive models are sums in single precision."""
    return {"rtol": 1e-5, "atol": 1e-6} if is_additive(kind) else {"rtol": 1e-9, "atol": 1e-9}


def ends(bands, X=None):
    """Returns the lower and the upper ends of predictions."""
    return np.stack(bands.predict(table()[0] if X is None else X)[1:])


def members(bands):
    """Returns the predictions of every member for rows that no tree knows by heart: the model, a truth, and draws."""
    X = table()[0]
    return bands._predictions(bands._values_of(X.assign(job=X["job"].to_numpy()[::-1])))


def numbers(bands, X=None):
    """Returns the ends of all bands by name, that of dependence over the rows of the fit."""
    found = {"predictions": ends(bands, X), "importances": np.stack(bands.importances()[1:])}
    found["dependence"] = np.stack(bands.dependence(0).band[1:])
    if hasattr(bands, "explain_global"):
        found["curves"] = np.concatenate([np.ravel(end) for own in bands.explain_global() for end in own.band])
    return found


def assert_same(found, right, **near):
    assert found.keys() == right.keys()
    for name, own in right.items():
        np.testing.assert_allclose(found[name], own, **{"rtol": 0, "err_msg": name, **near})


def predictions(model, X):
    if not hasattr(model, "classes_"):
        return model.predict(X)
    shares = model.predict_proba(X)
    return np.concatenate(shares, axis=1) if isinstance(shares, list) else shares


def holds(band):
    return (band.lower <= band.center + 1e-9).all() and (band.center <= band.upper + 1e-9).all()


FAST = ["boosted", "boosted three", "boosted folds"]
SLOW = [kind for kind in KINDS if kind.startswith("boosted") and kind not in FAST]


@pytest.mark.parametrize("kind", are_slow(KINDS, *SLOW))
def test_predictions_lie_in_their_bands(kind):
    X, model, bands = table()[0], fitted(kind), bands_of(kind)
    band = bands.predict(X)
    np.testing.assert_allclose(band.center, predictions(model, X), **near(kind))
    least = 0.3 if kind == "forest factors" else 0.95 if is_forest(kind) else 1
    assert holds(band) and (band.lower < band.upper).mean() >= least
    if hasattr(model, "classes_"):
        assert band.lower.min() >= 0 and band.upper.max() <= 1
    assert set(bands.coverage) == set(bands.bias) and all(0 <= own <= 1 for own in bands.coverage.values())
    assert np.mean(list(bands.coverage.values())) > 0.8 - 1e-9


@pytest.mark.parametrize("kind", are_slow(KINDS, *SLOW))
def test_importances_lie_in_their_bands(kind):
    model, bands = fitted(kind), bands_of(kind)
    band, own = bands.importances(), "term_importances_" if is_additive(kind) else "feature_importances_"
    np.testing.assert_allclose(band.center, getattr(model, own), rtol=1e-9)
    assert holds(band) and band.lower.min() >= 0 and (is_additive(kind) or band.upper.max() <= 1)
    names = model.term_names_ if is_additive(kind) else ["age", "job"]
    assert bands.importance_words().names == (bands.term_names if is_additive(kind) else bands.column_names) == names


@of_drawn
def test_a_seed_repeats_bands(kind):
    assert_same(numbers(drawn(kind)), numbers(bands_of(kind)))
    assert not np.allclose(ends(drawn(kind, random_state=1)), ends(bands_of(kind)))


@of_drawn
def test_more_draws_begin_with_those_of_fewer(kind):
    few, more = members(bands_of(kind)), members(drawn(kind, draws=15))
    np.testing.assert_array_equal(few, more[: len(few)])
    assert len({own.tobytes() for own in more}) == len(more) == (31 if is_forest(kind) else 17)
    assert len(few) == (21 if is_forest(kind) else 12)


@of_shown
def test_the_order_of_rows_that_are_predicted_does_not_matter(kind):
    bands = bands_of(kind)
    np.testing.assert_allclose(ends(bands, table()[0].iloc[::-1])[:, ::-1], ends(bands))


@of_drawn
def test_polars_makes_the_bands_of_pandas(kind):
    X = table()[0]
    other = pl.DataFrame({"age": [None if np.isnan(own) else own for own in X["age"]], "job": X["job"].tolist()})
    target, extras = target_of(kind), KINDS[kind][3]
    bands = unfitted(kind).fit(other, target, **extras).bands(other, target, **DRAWN, **extras)
    assert_same(numbers(bands, other), numbers(bands_of(kind)))


@of_drawn
def test_names_of_columns_change_nothing(kind):
    X, target, extras = table()[0].rename(columns={"age": "work", "job": "1st"}), target_of(kind), KINDS[kind][3]
    bands = unfitted(kind).fit(X, target, **extras).bands(X, target, **DRAWN, **extras)
    assert_same(numbers(bands, X), numbers(bands_of(kind)))


@of_drawn
def test_rows_of_no_weight_are_no_rows(kind):
    (X, y), (_, _, target, extras) = table(), KINDS[kind]
    one = np.ones(NUM_ROWS)
    plain = unfitted(kind).fit(X, target(y), one, **extras)
    right = numbers(plain.bands(X, target(y), one, **DRAWN, **extras))
    twice = pd.concat([X, X.iloc[:40]]), target(np.append(y, y[:40] + 9)), np.append(one, np.zeros(40))
    extras = {name: np.append(own, own[:40]) for name, own in extras.items()}
    for model in (plain, unfitted(kind).fit(*twice, **extras)):
        assert_same(numbers(model.bands(*twice, **DRAWN, **extras)), right)


@pytest.mark.parametrize("kind", rest_is_slow(FIRST, 3))
def test_rows_of_a_group_are_drawn_together(kind):
    copies, target = 4, target_of(kind)
    X, target, groups = pd.concat([table()[0]] * copies), np.tile(target, copies), np.arange(NUM_ROWS)
    extras = {name: np.tile(own, copies) for name, own in KINDS[kind][3].items()}
    model, spreads = unfitted(kind, **{"min_samples_leaf": 20} if is_forest(kind) else {}), []
    for own in (None, np.tile(groups, copies)):
        model.fit(X, target, **extras, **{"groups": own} if kind == "forest times" else {})  # whose trees draw groups
        spreads.append(members(model.bands(X, target, draws=20, groups=own, **extras))[2:].std(axis=0).mean())
    assert 1.3 < spreads[1] / spreads[0] < 2.6  # near the root of the copies


ORDERED = {
    "boosted": {},
    "additive": {"interactions": 0, "outer_bags": 1, "validation_size": 0, "max_rounds": 110},
    "forest": {"bootstrap": False, "min_samples_leaf": 5},
}
"""Parameters with which the order of rows decides about no tree."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ORDERED)
def test_the_order_of_the_rows_of_the_fit_changes_the_chance_alone(kind):
    (X, y), order = table(), np.random.default_rng(0).permutation(NUM_ROWS)
    found = []
    for own in (np.arange(NUM_ROWS), order):
        rows = X.iloc[own], y[own]
        found.append(unfitted(kind, **ORDERED[kind]).fit(*rows).bands(*rows, draws=60).predict(X))
    np.testing.assert_allclose(found[0].center, found[1].center, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(*[np.mean(own.upper - own.lower) for own in found], rtol=0.2)


SCALED = ["boosted", "additive", "forest", "forest outputs", "forest honest", "boosted folds", "boosted stopped",
          "boosted medians", "boosted outputs", "forest of one tree"]  # fmt: skip


@pytest.mark.parametrize("kind", rest_is_slow(SCALED, 5))
def test_a_target_in_other_units_makes_bands_so_many_times_as_wide(kind):
    X, target = table()[0], 1024 * target_of(kind)
    found, right = numbers(unfitted(kind).fit(X, target).bands(X, target, **DRAWN)), numbers(bands_of(kind))
    own = {name: 1 if name == "importances" and not is_additive(kind) else 1024 for name in right}
    assert_same({name: found[name] / own[name] for name in found}, right, rtol=1e-6, atol=1e-9)


def print_numbers():
    """Prints the numbers of some kinds as JSON, for the process that started this one."""
    found = {kind: numbers(bands_of(kind)) for kind in FIRST[:-1]}
    print(json.dumps({kind: {name: own.tolist() for name, own in of.items()} for kind, of in found.items()}))


@pytest.mark.slow
@pytest.mark.skipif(library.load() is None, reason="the kernel is not installed")
def test_bands_are_the_same_without_the_kernel():
    command = [sys.executable, "-c", CHILD]
    done = subprocess.run(command, env=os.environ | {"JAXTREE_NATIVE": "0"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    for kind, found in theirs.items():
        assert_same(found, numbers(bands_of(kind)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("column", ["age", "job", 1])
@of_shown
def test_dependence_is_that_of_the_model(kind, column):
    X, model, bands = table()[0], fitted(kind), bands_of(kind)
    found = bands.dependence(column, X)
    place = column if isinstance(column, int) else X.columns.get_loc(column)
    values, name = np.asarray(model.encoder_.values(X), np.float64), X.columns[place]
    tried = dependence_on(model.schema_, values, place, model.predict_values, limits=limits_on(model, place))
    np.testing.assert_array_equal(found.values, tried.values)
    categories = model.schema_.columns[place].categories
    for value, means in zip(found.values, found.band.center, strict=True):
        given = value if place == 0 else None if np.isnan(value) else categories[int(value)]
        right = predictions(model, X.assign(**{name: given})).reshape(NUM_ROWS, -1).mean(axis=0)
        np.testing.assert_allclose(means, right, rtol=1e-6, atol=1e-6)
    assert holds(found.band)
    if kind != "forest three":  # whose rows of the fit have the weights of their classes
        np.testing.assert_allclose(bands.dependence(column).band, found.band)


@pytest.mark.parametrize("kind", are_slow(["boosted times", "additive times", "forest times"], "boosted times"))
def test_survival_is_that_of_the_model(kind):
    X, model, bands = table()[0].iloc[:5], fitted(kind), bands_of(kind)
    times = np.quantile(model.event_times_, [0.2, 0.5, 0.8])
    band = bands.survival(X, times=times)
    right = model.predict_survival_function(X, times=times, return_array=True)
    np.testing.assert_allclose(band.center, right, **near(kind))
    assert holds(band) and band.lower.min() >= 0 and band.upper.max() <= 1
    strict = (band.lower < band.center) & (band.center < band.upper)
    assert strict.any() if is_forest(kind) else strict.all()
    assert bands.survival(X).center.shape == (5, len(model.event_times_))
    np.testing.assert_allclose(bands.survival(X, times=[model.event_times_[0] / 2]), 1, atol=1e-9)


def test_survival_is_refused_where_there_are_no_times():
    for kind in ("boosted", "additive"):
        with pytest.raises(InvalidInputError, match="survival is predicted of survival times"):
            bands_of(kind).survival(table()[0])
    assert not hasattr(bands_of("forest"), "survival")


@of_shown
def test_a_plot_draws_the_band_of_dependence(kind):
    X, bands = table()[0], bands_of(kind)
    assert plot_dependence(fitted(kind), X, "age", bands=bands).collections
    with pytest.raises(InvalidInputError, match="bands must be those of the model that is shown"):
        plot_dependence(other_than(kind), X, "age", bands=bands)


@of_shown
def test_a_page_draws_bands(kind):
    X, bands = table()[0], bands_of(kind)
    page = to_html(fitted(kind), X, target_of(kind), bands=bands, **KINDS[kind][3])
    assert bands.notes()[0] in page
    cards = {name: card["charts"].get("") for name, card in told_by(page)["cards"].items()}
    named = cards["term-importances" if is_additive(kind) else "column-importances"]["items"]
    assert sorted(own["name"] for own in named) == sorted(bands.importance_words().names)
    if not is_additive(kind):  # whose curves tests of pages know
        assert "band" in {series["kind"] for series in cards["dependence-0"]["series"]}
    with pytest.raises(InvalidInputError, match="bands must be those of the model that is shown"):
        to_html(other_than(kind), X, table()[1], bands=bands)


@pytest.mark.parametrize("kind", ["boosted", "forest"])
def test_a_page_draws_the_ends_of_bands(kind):
    X, y = table()
    bands = bands_of(kind)
    cards = told_by(to_html(fitted(kind), X, y, bands=bands))["cards"]
    band, steps = cards["dependence-0"]["charts"][""]["series"]
    found = bands.dependence("age", X).band
    known = slice(len(steps["y"]) - 1)  # the last step reaches to the last edge, and missing values are beside
    assert (band["kind"], band["isSteps"]) == ("band", True)
    for drawn_ends, right in ((band["y0"], found.lower), (steps["y"], found.center), (band["y"], found.upper)):
        np.testing.assert_allclose(drawn_ends[known], right[:-1, 0], rtol=1e-4, atol=1e-4)
    bars, jobs = cards["dependence-1"]["charts"][""]["items"][0]["bars"], bands.dependence("job", X).band
    np.testing.assert_allclose(bars[0][:2], [jobs.lower[0, 0], jobs.upper[0, 0]], rtol=1e-3)


@of_drawn
def test_a_saved_model_draws_the_bands_of_its_fit(kind, tmp_path):
    model = fitted(kind)
    model.save(tmp_path / "model.safetensors")
    for other in (jaxtree.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert_same(numbers(drawn(kind, other)), numbers(bands_of(kind)))


@pytest.mark.parametrize("kind", rest_is_slow(FIRST, 3))
def test_bands_of_a_file_leave_out_its_target(kind, tmp_path):
    generator, path = np.random.default_rng(0), tmp_path / "table.csv"
    X = generator.uniform(size=(60, 2)).round(3)
    target = KINDS[kind][2](X[:, 0] + generator.normal(size=60))
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "t": target.round(3)}).to_csv(path, index=False)
    model = unfitted(kind).fit(str(path), "t")
    bands = model.bands(str(path), "t", **DRAWN)
    np.testing.assert_allclose(bands.predict(str(path)).center, model.predict(str(path)), **near(kind))
    assert bands.importance_words().names[:2] == ["a", "b"]


@pytest.mark.parametrize("kind", [*FIRST, "forest scored"])
def test_bands_leave_the_model_as_it_was(kind):
    X, model = table()[0], pickle.loads(pickle.dumps(fitted(kind)))
    before = model.get_params(), set(vars(model)), getattr(model, "oob_score_", None)
    right = model.predict(X)
    drawn(kind, model)
    assert (model.get_params(), set(vars(model)), getattr(model, "oob_score_", None)) == before
    np.testing.assert_array_equal(model.predict(X), right)


@pytest.mark.parametrize("kind", rest_is_slow(FIRST, 3))
def test_another_fit_of_the_model_leaves_its_bands(kind):
    X, target, extras = table()[0].iloc[::2], target_of(kind)[::2], KINDS[kind][3]
    model = pickle.loads(pickle.dumps(fitted(kind)))
    bands = drawn(kind, model)
    model.fit(X, target, **{name: own[::2] for name, own in extras.items()})
    assert_same(numbers(bands), numbers(bands_of(kind)))
    with pytest.raises(InvalidInputError, match="bands must be those of the model that is shown"):
        bands.check_is_of(model)


@pytest.mark.parametrize("kind", FIRST)
def test_rows_that_are_not_those_of_the_fit_are_refused(kind):
    X, target, extras, model = table()[0], target_of(kind), KINDS[kind][3], fitted(kind)
    for other in (X.assign(age=X["age"] + 1), X[["job", "age"]]):
        with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
            model.bands(other, target, **DRAWN, **extras)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        model.bands(X.iloc[::2], target[::2], **DRAWN, **{name: own[::2] for name, own in extras.items()})
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        model.bands(X, target, np.arange(1, NUM_ROWS + 1), **DRAWN, **extras)


@pytest.mark.parametrize("kind", [own for own in KINDS if is_additive(own)])
def test_a_target_that_an_additive_model_has_not_learned_is_refused(kind):
    with pytest.raises(InvalidInputError, match=r"y must be the target of the fit: .* a loss of \S+, and a constant"):
        fitted(kind).bands(table()[0], target_of(kind)[::-1], **DRAWN, **KINDS[kind][3])


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_a_model_that_has_learned_nothing_has_bands(loss):
    generator = np.random.default_rng(0)
    X, y, weight = generator.normal(size=(60, 2)), generator.poisson(2, 60), generator.exponential(size=60)
    model = ExplainableBoostingRegressor(loss=loss, interactions=0, outer_bags=2).fit(X, y, weight)
    assert np.isfinite(ends(model.bands(X, y, weight, **DRAWN), X)).all()


@pytest.mark.parametrize("kind", ["boosted", "forest", "forest times"])
def test_a_target_that_is_not_that_of_the_fit_is_refused(kind):
    X, target, extras = table()[0], target_of(kind), KINDS[kind][3]
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        fitted(kind).bands(X, target[::-1], **DRAWN, **extras)
    for name in extras:
        with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
            drawn(kind, **{name: np.ones(NUM_ROWS)})


@pytest.mark.parametrize("kind", FIRST)
def test_arguments_that_are_not_allowed_are_named(kind):
    X, target, model = table()[0], target_of(kind), fitted(kind)
    with pytest.raises(InvalidInputError, match="draws must be at least 20"):
        model.bands(X, target, draws=5)
    with pytest.raises(InvalidInputError, match="level must be above 0 and below 1, got 1"):
        model.bands(X, target, level=1)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        model.bands(X, target[:-1])
    if kind != "forest times":  # whose groups are read as in its fit
        with pytest.raises(InvalidInputError, match="groups must be two or more"):
            drawn(kind, groups=np.zeros(NUM_ROWS))
        with pytest.raises(InvalidInputError, match="groups must have one group for each row, got 5"):
            drawn(kind, groups=np.arange(5))
    with pytest.raises(NotFittedError):
        unfitted(kind).bands(X, target)
