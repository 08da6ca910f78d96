"""Fine-tuned models: the same kind of model, what training has found, and never worse on the validation rows."""

import functools

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import jaxtree
from jaxtree import FineTuning, boosting, fine_tune
from jaxtree.dataset.sample import read_known
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.fine_tuning.tuned import trainable_model
from jaxtree.soft.fine_tuning import Comparisons, fit_scales, tuned_of, with_thresholds

FEW = FineTuning(max_epochs=6, leaf_rate=0.01, gate_rate=0.02, reg_lambda=1.0, random_state=0)
STILL = FineTuning(max_epochs=2, leaf_rate=0.0, gate_rate=0.0, noise=None, random_state=0)

MODELS = {
    "boosted numbers": lambda: jaxtree.GradientBoostingRegressor(5, learning_rate=0.05, max_depth=3),
    "boosted counts": lambda: jaxtree.GradientBoostingRegressor(5, loss="poisson", learning_rate=0.05, max_depth=3),
    "boosted quantile": lambda: jaxtree.GradientBoostingRegressor(
        5, loss=boosting.quantile(0.8), learning_rate=0.05, max_depth=3
    ),
    "boosted classes": lambda: jaxtree.GradientBoostingClassifier(5, learning_rate=0.05, max_depth=3),
    "a tree a score": lambda: jaxtree.GradientBoostingClassifier(
        5, learning_rate=0.05, max_depth=3, multi_strategy="one_output_per_tree"
    ),
    "mean of numbers": lambda: (
        [MODELS["boosted numbers"](), jaxtree.GradientBoostingRegressor(4, loss="huber", max_bins=20)],
        [3, 1],
    ),
    "mean of classes, boosted": lambda: ([MODELS["boosted classes"](), MODELS["a tree a score"]()], [2, 1]),
    "forest of classes": lambda: jaxtree.RandomForestClassifier(4, max_depth=4, random_state=0),
    "forest of numbers": lambda: jaxtree.RandomForestRegressor(4, max_depth=4, random_state=0),
    "random thresholds": lambda: jaxtree.ExtraTreesRegressor(4, max_depth=4, random_state=0),
    "tree of classes": lambda: jaxtree.DecisionTreeClassifier(max_depth=3),
    "tree of numbers": lambda: jaxtree.DecisionTreeRegressor(max_depth=3),
}


def table(num_rows, seed):
    """Numbers, some missing, and words; and a score."""
    draw = np.random.default_rng(seed)
    numbers = draw.normal(size=(num_rows, 2))
    word = draw.choice(list("abcdef"), num_rows)
    score = 2 * numbers[:, 0] + np.isin(word, ["b", "e"]) * numbers[:, 1] + draw.normal(size=num_rows) * 0.3
    X = pd.DataFrame(numbers, columns=["x", "z"]).mask(draw.random(numbers.shape) < 0.1)
    X["word"] = pd.Categorical(word, list("abcdef"))
    return X, score


def targets(name, score):
    if "class" in name or name == "a tree a score":
        return np.digitize(score, [-1.0, 1.0])
    return np.exp(score / 2).round() if "count" in name else score


@functools.cache
def fitted(name):
    X, score = table(200, 0)
    y, made = targets(name, score), MODELS[name]()
    if not isinstance(made, tuple):
        return made.fit(X, y)
    models, weights = made
    return type(models[0]).mean_of([model.fit(X, y) for model in models], weights)


def rows_of(name, seed=1, num_rows=120):
    X, score = table(num_rows, seed)
    return X, targets(name, score)


def predicted(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def engine(model, X, y):
    """A model as parameters, and what it says of rows."""
    given = read_known(model.outputs(), X, y)
    tuned = trainable_model(model, given)
    values = model.encoder_.values(X)
    inputs = fit_scales(tuned.forest, model.encoder_.schema_, values, np.ones(len(values)))
    comparisons = Comparisons(tuned.forest, inputs)
    first = tuned_of(tuned.forest, tuned.value, comparisons, says=tuned.says)
    said = functools.partial(jax.jit(type(tuned).predict), x=comparisons.transform(values))
    return tuned, first, inputs, values, said


@pytest.mark.parametrize("name", MODELS)
def test_parameters_say_what_the_model_says(name):
    model, (X, y) = fitted(name), rows_of(name)
    tuned, first, *_, said = engine(model, X, y)
    plain = tuned._outputs(model.model_.predict(model.encoder_.values(X)))
    if "class" in name and "boosted" not in name:
        # Shares of leaves are smoothed by one row in all.
        assert np.corrcoef(np.exp(said(first)).ravel(), np.exp(plain).ravel())[0, 1] > 0.9
    else:
        np.testing.assert_allclose(said(first), plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_other_parameters_says_what_these_say(name):
    model, (X, y) = fitted(name), rows_of(name)
    tuned, first, inputs, values, said = engine(model, X, y)
    draw = np.random.default_rng(5)
    changed = jax.tree.map(lambda part: part + 0.3 * draw.normal(size=part.shape).astype(np.float32), first)
    gate = changed.gate._replace(threshold=np.where(first.topology.is_fixed, 0.5, changed.gate.threshold))
    changed = type(first)(gate, changed.leaf, first.topology)
    forest, schema = with_thresholds(tuned.forest, first, changed, inputs, values)
    other = tuned.trained_model(changed, forest, schema)
    assert type(other) is type(model)
    expected = said(changed)
    np.testing.assert_allclose(tuned._outputs(other.model_.predict(values)), expected, rtol=1e-4, atol=1e-5)
    # The model that was given is as it was, and the other one is whole.
    assert not np.array_equal(predicted(other, X), predicted(model, X))
    np.testing.assert_array_equal(predicted(fitted.__wrapped__(name), X), predicted(model, X))


@pytest.mark.parametrize("name", MODELS)
def test_no_model_is_worse_on_the_validation_rows(name, tmp_path):
    (X, y), (X_val, y_val) = rows_of(name), rows_of(name, seed=2)
    model = fitted(name)
    better = fine_tune(model, X, y, X_val=X_val, y_val=y_val, options=FEW)
    report = better.fine_tuning_
    assert report["end"] <= report["start"] and len(report["loss"]) == len(report["validation_loss"]) <= 6
    if report["end"] == report["start"]:
        np.testing.assert_array_equal(predicted(better, X), predicted(model, X))
    else:
        better.save(tmp_path / "model.jaxtree")
        np.testing.assert_array_equal(predicted(jaxtree.load(tmp_path / "model.jaxtree"), X), predicted(better, X))
    if name in ("boosted numbers", "boosted classes", "a tree a score"):
        assert report["end"] < 0.9 * report["start"]
    again = fine_tune(model, X, y, X_val=X_val, y_val=y_val, options=FEW)
    np.testing.assert_array_equal(predicted(again, X), predicted(better, X))


@pytest.mark.parametrize("name", ["boosted numbers", "forest of classes", "tree of numbers"])
def test_without_rates_nothing_changes(name):
    X, y = rows_of(name)
    model = fitted(name)
    np.testing.assert_array_equal(predicted(fine_tune(model, X, y, options=STILL), X), predicted(model, X))


def test_thresholds_that_are_not_trained_keep_their_digits():
    X, y = rows_of("boosted numbers")
    model = fitted("boosted numbers")
    better = fine_tune(model, X, y, options=FineTuning(max_epochs=6, leaf_rate=0.02, gate_rate=0.0, random_state=0))
    assert better.fine_tuning_["end"] < better.fine_tuning_["start"]
    np.testing.assert_array_equal(better.forest_.nodes.threshold, model.forest_.nodes.threshold)
    assert not np.array_equal(better.forest_.nodes.target_sum, model.forest_.nodes.target_sum)


def test_of_several_penalties_the_best_on_the_validation_rows_stays():
    """Each of them is trained as it is by itself, to the last bit."""
    (X, y), (X_val, y_val) = rows_of("boosted numbers"), rows_of("boosted numbers", seed=2)
    penalties = (30.0, 0.0, 3.0)

    def tuned(reg_lambda):
        options = FineTuning(**vars(FEW) | {"reg_lambda": reg_lambda})
        return fine_tune(fitted("boosted numbers"), X, y, X_val=X_val, y_val=y_val, options=options)

    together, alone = tuned(penalties), {one: tuned(one) for one in penalties}
    found = {one: model.fine_tuning_["end"] for one, model in alone.items()}
    assert len(set(found.values())) == 3
    best = min(found, key=found.__getitem__)
    assert together.fine_tuning_["reg_lambda"] == best
    np.testing.assert_array_equal(together.predict(X), alone[best].predict(X))


def test_a_gain_that_may_be_chance_is_left():
    """The bound is of paired differences between the losses of rows."""
    X, y = rows_of("boosted numbers")
    model = fitted("boosted numbers")
    own = {"X_val": X, "y_val": y}
    taken = fine_tune(model, X, y, **own, options=FineTuning(**vars(FEW) | {"min_standard_errors": 0.0}))
    gain = np.square(model.predict(X) - y) - np.square(taken.predict(X) - y)
    errors = gain.mean() / (gain.std() / np.sqrt(len(y)))
    assert errors > 0.1
    for bound, is_taken in ((0.99 * errors, True), (1.01 * errors, False)):
        other = fine_tune(model, X, y, **own, options=FineTuning(**vars(FEW) | {"min_standard_errors": bound}))
        np.testing.assert_array_equal(other.predict(X), (taken if is_taken else model).predict(X))


def test_what_cannot_be_tuned_is_named():
    X, y = rows_of("tree of numbers")
    plain = X[["x", "z"]].fillna(0)
    tree = fitted("tree of numbers")
    with pytest.raises(InvalidTypeError, match="a tree, a forest or a boosted model of jaxtree, got int"):
        fine_tune(3, X, y)
    with pytest.raises(NotFittedError):
        fine_tune(jaxtree.DecisionTreeRegressor(), X, y)
    with pytest.raises(InvalidInputError, match="monotonic_cst"):
        fine_tune(jaxtree.GradientBoostingRegressor(2, monotonic_cst=[1, 0]).fit(plain, y), plain, y)
    with pytest.raises(InvalidInputError, match="splits in two"):
        fine_tune(jaxtree.ID3Classifier().fit(X[["word"]], y > 0), X[["word"]], y > 0)
    with pytest.raises(InvalidInputError, match="go together"):
        fine_tune(tree, X, y, X_val=X)
    with pytest.raises(InvalidInputError, match="extras are for boosted models, got \\['group'\\]"):
        fine_tune(tree, X, y, extras={"group": np.zeros(len(y))})
    of_classes = fitted("tree of classes")
    with pytest.raises(InvalidInputError, match=r"^y has a class that the model was not fitted on; known are \["):
        fine_tune(of_classes, X, np.full(len(y), 7))
    right = of_classes.predict(X)
    with pytest.raises(InvalidInputError, match=r"^X_val and y_val: y has a class"):
        fine_tune(of_classes, X, right, X_val=X, y_val=np.full(len(y), 7))
    with pytest.raises(InvalidInputError, match="at least one non-zero"):
        fine_tune(tree, X, y, np.zeros(len(y)))
    for reg_lambda in (-1.0, [], [1.0, "much"], [np.inf]):
        with pytest.raises(InvalidInputError, match="reg_lambda"):
            fine_tune(tree, X, y, options=FineTuning(reg_lambda=reg_lambda))
    with pytest.raises(InvalidInputError, match="width"):
        fine_tune(tree, X, y, options=FineTuning(width=0))
