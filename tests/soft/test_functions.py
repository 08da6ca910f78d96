"""Functions of one's own in the place of names: static, by identity, with the results of names that are the same."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxtree
from jaxtree import DecisionTreeClassifier, SoftForestClassifier, SoftTreeClassifier, SoftTreeRegressor
from jaxtree.errors import InvalidInputError, TrainingError
from jaxtree.soft import Hyperparameters, LearningRates, SoftForm, TrainingConfig, apply, init, make_rows, train
from jaxtree.soft.choices import CHOICES
from jaxtree.soft.rates import cosine
from jaxtree.soft.sides import SIDES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
ROWS = make_rows(X, Y)
FEW = {"max_epochs": 5, "random_state": 0}


def smooth_step(value):
    share = jnp.clip(value / 2 + 0.5, 0, 1)
    return share * share * (3 - 2 * share)


def plane(weight, bias, row):
    return jnp.dot(weight, row) + bias


def paraboloid(weight, bias, row):
    return jnp.dot(weight, row * row) + bias


USUAL, NUMBERS = TrainingConfig(), Hyperparameters()


def trained(form, config=USUAL, hyperparameters=NUMBERS):
    tree = init(form, key=jax.random.key(0))
    return train(tree, ROWS, key=jax.random.key(1), num_epochs=4, config=config, hyperparameters=hyperparameters)


def same(one, other, atol=1e-5):
    np.testing.assert_allclose(one.loss, other.loss, atol=atol)
    for left, right in zip(jax.tree.leaves(one.model), jax.tree.leaves(other.model), strict=True):
        np.testing.assert_allclose(left, right, atol=10 * atol)


@pytest.mark.parametrize("gate, names", [("hard", SIDES), ("axis", ["sigmoid"]), ("oblique", ["sigmoid"])])
def test_a_function_that_has_a_name_trains_alike(gate, names):
    for side in names:
        options = {"depth": 2, "num_features": 4, "num_outputs": 2, "gate": gate}
        function = SIDES[side]
        same(trained(SoftForm(**options, side=side)), trained(SoftForm(**options, side=lambda z, f=function: f(z))))


@pytest.mark.parametrize("choice", CHOICES)
def test_choices_of_ones_own_train_alike(choice):
    form = SoftForm(2, num_features=4, num_outputs=2, gate="hard", choice=choice)
    own = SoftForm(2, num_features=4, num_outputs=2, gate="hard", choice=lambda z: CHOICES[choice](z))
    same(trained(form), trained(own))


def test_the_gate_of_planes_is_a_function_too():
    same(trained(SoftForm(2, 4, 2)), trained(SoftForm(2, 4, 2, gate=plane)))
    tree = init(SoftForm(2, 4, 2, gate=paraboloid), key=jax.random.key(0))
    turned = tree.gate._replace(weight=-tree.gate.weight)
    assert not np.allclose(apply(tree, X), apply(jax.tree_util.tree_map(lambda part: part, tree), -X + 1))
    np.testing.assert_array_equal(apply(tree, X), apply(tree, -X))  # squares know no sign
    assert not np.allclose(apply(tree, X), apply(type(tree)(turned, tree.leaf, tree.form), X))


def test_schedules_of_the_usual_values_are_the_usual_training():
    numbers = Hyperparameters(LearningRates(0.1, 0.2), first_temperature=1.0, last_temperature=0.25, noise=0.1)
    config = TrainingConfig(
        decay=LearningRates(cosine, cosine, cosine),
        temperature=lambda done: 0.25**done,
        noise=lambda done: jnp.ones_like(done),
    )
    same(trained(SoftForm(2, 4, 2), hyperparameters=numbers), trained(SoftForm(2, 4, 2), config, numbers))


def test_a_schedule_of_0_leaves_a_part_as_it_is():
    config = TrainingConfig(decay=LearningRates(optax.constant_schedule(0.0), cosine, cosine))
    made = trained(SoftForm(2, 4, 2), config)
    first = init(SoftForm(2, 4, 2), key=jax.random.key(0))
    np.testing.assert_array_equal(made.model.gate.weight, first.gate.weight)
    assert not np.array_equal(made.model.leaf.value, first.leaf.value)


def test_one_function_is_one_program():
    traces = []

    def counted(value):
        traces.append(value)
        return smooth_step(value)

    model = SoftTreeClassifier(2, side=counted, **FEW).fit(X, Y)
    before = len(traces)
    again = SoftTreeClassifier(2, side=counted, **FEW).fit(X, Y)
    assert len(traces) == before > 0
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(
    "options",
    [
        {"side": smooth_step},
        {"gate": "axis", "side": smooth_step, "choice": "entmax15"},
        {"gate": "hard", "side": smooth_step, "choice": lambda logits: jax.nn.softmax(2 * logits)},
        {"gate_rate": optax.linear_schedule(0.1, 0.01, 1), "first_temperature": lambda done: 1 - 0.6 * done},
        {"noise": lambda done: 0.3 * (1 - done), "leaf_rate": lambda done: 0.2},
    ],
    ids=["oblique", "axis", "hard", "rates", "noise"],
)
def test_estimators_take_functions(options):
    model = SoftTreeClassifier(2, **options, **FEW).fit(X, Y)
    assert model.score(X, Y) > 0.6
    assert model.harden().agreement_ > 0.7
    if "first_temperature" in options:
        assert model.last_temperature_ == pytest.approx(0.4)
    before = model.predict_proba(X)
    assert not np.array_equal(model.partial_fit(X, Y).predict_proba(X), before)


def test_gates_of_ones_own_have_no_hard_form():
    model = SoftTreeClassifier(2, gate=paraboloid, **FEW).fit(X, Y)
    assert model.predict_proba(X).shape == (120, 2)
    with pytest.raises(InvalidInputError, match=r"gate=paraboloid.* no hard form"):
        model.harden()
    with pytest.raises(InvalidInputError, match=r"gate=paraboloid is a function: gate must be a name"):
        SoftTreeClassifier(2, gate=paraboloid, init=DecisionTreeClassifier(max_depth=2).fit(X, Y), **FEW).fit(X, Y)


def test_a_tree_to_begin_with_keeps_the_side():
    grown = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    model = SoftTreeClassifier(2, gate="axis", init=grown, side=smooth_step, **FEW).fit(X, Y)
    assert model.soft_model_.form.side is smooth_step


@pytest.mark.parametrize(
    "options, words",
    [
        ({"side": np.sin}, "side=sin must be a function of arrays of JAX"),
        (
            {"side": lambda value: value.sum()},
            r"side=<lambda> must return floats of the shape \(2, 3\) .*, got float of",
        ),
        ({"side": lambda value: (value > 0).astype(int)}, r"side=<lambda> .*, got int32 of the shape \(2, 3\)"),
        ({"side": lambda value: jnp.nan * value}, "side=<lambda> must return shares from 0 to 1, got nan for -8.0"),
        ({"side": jnp.tanh}, "side=tanh must return shares from 0 to 1, got -1.0 for -8.0"),
        (
            {"side": lambda value: jax.nn.sigmoid(-value)},
            "side=<lambda> must return shares that do not fall, got .* and",
        ),
        ({"side": lambda value: jax.nn.sigmoid(value - 1)}, "side=<lambda> must return 0.5 for 0, got 0.268941"),
        ({"gate": "axis", "choice": lambda logits: logits[0]}, "choice=<lambda> must return floats"),
        ({"gate": "axis", "choice": jnp.exp}, "choice=exp must return shares from 0 to 1, got 7.38906 for 2.0"),
        ({"gate": "hard", "choice": jax.nn.sigmoid}, "choice=sigmoid must return shares that sum to 1 .* the sum 1.5"),
        ({"gate": lambda row: row}, "gate=<lambda> must be a function of arrays of JAX"),
        ({"choice": "softmax"}, "choice='softmax' is for gates .*, got gate='oblique'"),
        ({"gate": plane, "choice": "softmax"}, "choice='softmax' is for gates .*, got gate='plane'"),
        ({"init_width": 0.2}, "init_width is for a tree to begin with: give init, got 0.2 alone"),
        ({"oblivious": True}, "oblivious=True is for gate='hard', got gate='oblique'"),
        ({"noise": lambda done: -1.0}, "noise=<lambda> must return numbers of 0 or more, got -1.0 at the share 0.0"),
        ({"gate_rate": lambda: 1.0}, "gate_rate=<lambda> must be a function in JAX of the share"),
        ({"first_temperature": lambda done: 1.0 - done}, "first_temperature=<lambda> must return numbers above 0"),
        ({"first_temperature": lambda done: 1.0, "last_temperature": 0.3}, "last_temperature must be 'auto'"),
        (
            {"first_temperature": lambda done: 1.0 if done < 0.5 else 0.3},
            "first_temperature=<lambda> must be a function in",
        ),
        (
            {"loss": lambda scores, target, extras: scores[0], "label_smoothing": 0.1},
            "label_smoothing is for loss='log",
        ),
    ],
)
def test_what_is_no_such_function_is_refused(options, words):
    with pytest.raises(InvalidInputError, match=words):
        SoftTreeClassifier(2, **options, **FEW).fit(X, Y)


def test_errors_of_training_name_ones_own_functions():
    def undefined(weight, bias, row):
        return jnp.log(-1 - plane(weight, bias, row) ** 2)

    with pytest.raises(TrainingError, match=r"not finite in epoch 1: finite numbers from gate=undefined, smaller"):
        SoftTreeClassifier(2, gate=undefined, **FEW).fit(X, Y)


def test_files_refuse_functions_that_predictions_need(tmp_path):
    path = tmp_path / "model"
    model = SoftTreeClassifier(2, side=smooth_step, **FEW).fit(X, Y)
    with pytest.raises(InvalidInputError, match=r"parameter side .* smooth_step is a function of the user's own"):
        model.save(path)
    with pytest.raises(InvalidInputError, match=r"predicts by side=smooth_step"):
        model.set_params(side="auto").save(path)
    with pytest.raises(InvalidInputError, match=r"first_temperature=1.0 and last_temperature=0.5"):
        SoftTreeClassifier(2, first_temperature=lambda done: 1 - done / 2, **FEW).fit(X, Y).save(path)
    assert not path.exists()


@pytest.mark.parametrize("make", [SoftTreeClassifier, SoftForestClassifier], ids=["tree", "forest"])
def test_files_keep_hard_gates_that_were_trained_by_functions(make, tmp_path):
    size = {"n_estimators": 2, "mixture": "mean", "cv": None} if make is SoftForestClassifier else {}
    model = make(depth=2, gate="hard", side=smooth_step, **size, **FEW).fit(X, Y)
    model.set_params(side="auto").save(tmp_path / "model")
    loaded = jaxtree.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_one_dialect_of_losses():
    def cubed(scores, target, extras):
        return jnp.abs(scores[0] - target) ** 3

    def cubed_of_rows(output, target):
        return jnp.abs(output[:, 0] - target) ** 3

    target = X[:, 0] + X[:, 1]
    for kind, size in ((SoftTreeRegressor, {"depth": 2}), (jaxtree.GradientBoostingRegressor, {"n_estimators": 5})):
        few = size | ({"max_epochs": 5, "random_state": 0} if kind is SoftTreeRegressor else {})
        own = [kind(loss=loss, **few).fit(X, target).predict(X) for loss in (cubed, cubed_of_rows)]
        np.testing.assert_allclose(own[0], own[1], atol=1e-5)
        assert np.corrcoef(own[0], target)[0, 1] > 0.5
        with pytest.raises(InvalidInputError, match=r"of 1 arguments"):
            kind(loss=lambda scores: scores, **few).fit(X, target)
    form, rows, key = SoftForm(2, 4, 1), make_rows(X, target), jax.random.key(0)
    made = [
        train(init(form, key=key), rows, key=key, num_epochs=3, config=TrainingConfig(loss=loss)).loss
        for loss in ("squared_error", jaxtree.boosting.squared(), lambda output, y: (output[:, 0] - y) ** 2 / 2)
    ]
    np.testing.assert_allclose(made[0], made[1])
    np.testing.assert_allclose(made[0], made[2], rtol=1e-4)
    with pytest.raises(InvalidInputError, match=r"loss must be one of .* or a function, got 'mse'"):
        train(init(form, key=key), rows, key=key, num_epochs=1, config=TrainingConfig(loss="mse"))


def test_models_are_printed_in_few_lines():
    made = trained(SoftForm(3, 4, 2))
    lines = repr(made).splitlines()
    assert len(lines) <= 10 and "gate.weight: 7 x 4" in repr(made) and "loss" in lines[1]
    assert "paraboloid() gates" in repr(init(SoftForm(2, 4, 2, gate=paraboloid), key=jax.random.key(0)))
    forest = SoftForestClassifier(2, depth=2, gate="hard", mixture="by_tree", cv=None, **FEW).fit(X, Y)
    assert (
        repr(forest.soft_model_).startswith("SoftForest: 2 trees with TreeWeights")
        and len(repr(forest.progress_)) < 1000
    )
