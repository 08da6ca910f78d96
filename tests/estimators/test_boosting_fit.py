"""Fits of boosted estimators: extras, evaluations, stopping, going on, and the laws of what is predicted."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from jax.sharding import Mesh
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score

import jaxtree
from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.boosting import Loss, absolute, cox, logistic, poisson, quantile
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError
from jaxtree.estimators.boosting import parameters as usual
from jaxtree.estimators.boosting.metrics import metric_of
from jaxtree.estimators.common.peers import peers
from jaxtree.losses.names import LOSSES
from jaxtree.tree.nodes import target_means

FEW = {"n_estimators": 12, "max_depth": 3}


def numbers(num_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows, 4))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + rng.normal(0, 0.3, num_rows), rng


def classes(num_classes=2, **options):
    X, y, _ = numbers(**options)
    return X, np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, np.linspace(0, 1, num_classes + 1)[1:-1]))]


def same_trees(one, other):
    for name in ("feature", "threshold", "first_child", "target_sum", "weight"):
        a, b = (getattr(model.forest_.nodes, name) for model in (one, other))
        np.testing.assert_array_equal(a, b, err_msg=name)


MODELS = {
    "numbers": (GradientBoostingRegressor, numbers, {}),
    "quantile": (GradientBoostingRegressor, numbers, {"loss": quantile(0.8)}),
    "two classes": (GradientBoostingClassifier, classes, {}),
    "three classes": (GradientBoostingClassifier, lambda **seed: classes(3, **seed), {}),
}


SLOW = ("numbers", "two classes")
"""Quantiles are numbers, too, but leaves have values of their own, and three classes three scores."""


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in MODELS])
def case(request):
    make, rows, parameters = MODELS[request.param]
    return make(**FEW | parameters), *rows()[:2]


def test_scores_are_the_start_and_the_steps_of_all_trees(case):
    model, X, y = case
    model.fit(X, y)
    steps = target_means(model.forest_.nodes)[model.apply(X) + model.forest_.first_node[:-1]]
    np.testing.assert_allclose(model.raw_scores(X), model.start_ + steps.sum(axis=1), rtol=1e-12, atol=1e-12)


def test_the_first_rounds_are_a_shorter_fit_and_its_stage(case):
    model, X, y = case
    model.fit(X, y, eval_set=[(X, y)])
    few, short = model.truncated(5), type(model)(**model.get_params() | {"n_estimators": 5}).fit(X, y)
    same_trees(few, short)
    assert few.n_estimators_ == 5 and model.n_estimators_ == 12
    np.testing.assert_array_equal(few.predict(X), short.predict(X))
    np.testing.assert_allclose(list(model.staged_scores(X))[4], few.raw_scores(X), rtol=1e-12, atol=1e-12)
    (column,) = few.evals_result_["validation_0"].values()
    assert column == next(iter(model.evals_result_["validation_0"].values()))[:5]
    with pytest.raises(InvalidInputError, match="must be from 1 to 12, got 13"):
        model.truncated(13)


def test_a_warm_start_makes_the_rounds_of_one_fit(case, tmp_path):
    model, X, y = case
    whole = type(model)(**model.get_params()).fit(X, y, eval_set=[(X, y)])
    warm = type(model)(**model.get_params() | {"n_estimators": 5, "warm_start": True}).fit(X, y, eval_set=[(X, y)])
    warm.save(tmp_path / "model")
    warm = jaxtree.load(tmp_path / "model")
    warm.set_params(n_estimators=12).fit(X, y, eval_set=[(X, y)])
    same_trees(warm, whole)
    np.testing.assert_array_equal(warm.raw_scores(X), whole.raw_scores(X))
    assert warm.evals_result_ == whole.evals_result_


def test_what_is_measured_of_other_rows_is_what_is_predicted(case):
    model, X, y = case
    other = type(model)(**model.get_params() | {"subsample": 0.5, "random_state": 0, "max_bins": 200, "max_depth": 5})
    other.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])])
    (measured,) = other.evals_result_["validation_0"].values()
    scores = other.raw_scores(X[1::2]).T
    with jax.enable_x64(True):
        target = np.searchsorted(other.classes_, y[1::2]) if hasattr(other, "classes_") else y[1::2]
        expected = other.loss_.mean(scores, target, np.ones(len(target)), {})
    assert measured[-1] == pytest.approx(float(expected), rel=1e-12)


def test_a_warm_start_on_drawn_rows_makes_the_rounds_of_one_fit(case):
    model, X, y = case
    model.set_params(subsample=0.5, random_state=3)
    warm = type(model)(**model.get_params() | {"n_estimators": 5, "warm_start": True}).fit(X, y)
    same_trees(warm.set_params(n_estimators=12).fit(X, y), model.fit(X, y))


@pytest.mark.slow
def test_rows_divided_among_devices_give_the_model_of_one():
    """Losses of every kind on several devices are tested beside the loop of boosting."""
    model, (X, y) = GradientBoostingClassifier(**FEW), classes()
    mesh = Mesh(np.array(jax.devices()[:2]), ("rows",))
    divided = type(model)(**model.get_params()).fit(X, y, eval_set=[(X, y)], mesh=mesh)
    model.fit(X, y, eval_set=[(X, y)])
    for name in ("feature", "threshold", "first_child", "num_rows"):
        np.testing.assert_array_equal(*(getattr(own.forest_.nodes, name) for own in (divided, model)), err_msg=name)
    # The derivatives of classes have exponentials, whose last bits depend on the program.
    np.testing.assert_allclose(divided.raw_scores(X), model.raw_scores(X), rtol=1e-6)


def test_a_source_is_not_divided_to_stop_early(tmp_path):
    X, y, _ = numbers()
    pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_parquet(tmp_path / "table.parquet")
    model = GradientBoostingRegressor(**FEW, early_stopping=True)
    with pytest.raises(InvalidInputError, match="early_stopping needs eval_set if X is a table in parts"):
        model.fit(tmp_path / "table.parquet", "y")
    model.fit(tmp_path / "table.parquet", "y", eval_set=[(pd.DataFrame(X, columns=list("abcd")), y)])
    assert model.n_estimators_ == len(model.forest_) > 0


def test_a_refit_on_the_same_rows_is_the_fit_and_old_steps_may_stay(case):
    model, X, y = case
    model.fit(X, y)
    scores = lambda decay_rate: model.refit(X, y, decay_rate=decay_rate).raw_scores(X)  # noqa: E731
    np.testing.assert_allclose(scores(0.0), model.raw_scores(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores(1.0), model.raw_scores(X), rtol=1e-12, atol=1e-12)


def test_a_refit_learns_from_other_rows_and_keeps_splits():
    X, y, _ = numbers()
    model = GradientBoostingRegressor(30, max_depth=3, monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    other, target, _ = numbers(seed=1)
    again = model.refit(other, target + 3, decay_rate=0.0)
    np.testing.assert_array_equal(again.forest_.nodes.threshold, model.forest_.nodes.threshold)
    assert again.score(other, target + 3) > 0.8 > 0 > model.score(other, target + 3)
    grid = np.repeat(other[:50], 20, axis=0)
    grid[:, 0] = np.tile(np.linspace(-2, 2, 20), 50)
    assert np.all(np.diff(again.predict(grid).reshape(50, 20), axis=1) >= -1e-12)
    with pytest.raises(InvalidInputError, match="decay_rate must be from 0 to 1, got 2"):
        model.refit(X, y, decay_rate=2)


STOPPED = {
    "loss": ("numbers", None, 0.0),
    "metric": ("numbers", "neg_mean_absolute_error", 0.0),
    "metric of classes": ("three classes", "accuracy", 0.0),
    "tolerance": ("two classes", None, 1e-3),
}


@pytest.mark.parametrize("name", STOPPED)
def test_fits_that_go_on_stop_where_one_longer_fit_does(name):
    """The best round so far is known: further fits end there, whatever number of rounds they are allowed."""
    kind, metric, tol = STOPPED[name]
    make, rows, parameters = MODELS[kind]
    X, y = rows()[:2]
    given: dict = {**FEW, **parameters, "early_stopping": True, "n_iter_no_change": 5, "learning_rate": 0.5, "tol": tol}
    held = {"eval_set": [rows(seed=1, num_rows=100)[:2]], "eval_metric": metric}
    whole = make(**given | {"n_estimators": 200}).fit(X, y, **held)
    parts, numbers_of_rounds = make(**given, warm_start=True), []
    for most in (1, 3, 200, 201, 202):
        parts.set_params(n_estimators=max(most, getattr(parts, "n_estimators_", 0))).fit(X, y, **held)
        numbers_of_rounds.append(parts.n_estimators_)
    assert numbers_of_rounds[2:] == [whole.n_estimators_] * 3 and 1 <= whole.n_estimators_ < 190
    same_trees(parts, whole)
    np.testing.assert_array_equal(parts.measured_.values, whole.measured_.values)


def test_a_warm_start_without_a_better_round_keeps_what_it_has():
    """Also where the first fit did not stop early, and its last round was not its best."""
    X, y, _ = numbers()
    held = {"eval_set": [numbers(seed=1)[:2]]}
    model = GradientBoostingRegressor(60, learning_rate=1.0, warm_start=True).fit(X, y, **held)
    (before,) = model.evals_result_["validation_0"].values()
    assert before[-1] > min(before)
    again = model.set_params(early_stopping=True, n_estimators=100).fit(X, y, **held)
    (after,) = again.evals_result_["validation_0"].values()
    assert after[again.n_estimators_ - 1] <= before[-1] and again.n_estimators_ >= 60


def test_a_warm_start_that_does_not_fit_is_named():
    X, y = classes()
    warm = GradientBoostingClassifier(5, warm_start=True).fit(X, y)
    with pytest.raises(InvalidInputError, match="larger or equal to the 5 rounds"):
        warm.set_params(n_estimators=4).fit(X, y)
    with pytest.raises(InvalidInputError, match="needs the classes"):
        warm.set_params(n_estimators=9).fit(*classes(3))
    with pytest.warns(UserWarning, match="does not fit new trees"):
        assert warm.n_estimators_ == 5 and warm.set_params(n_estimators=5).fit(X, y).n_estimators_ == 5
    X, y, _ = numbers()
    warm = GradientBoostingRegressor(3, warm_start=True).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"needs the loss of the first fit, squared\(\), got absolute\(\)"):
        warm.set_params(n_estimators=4, loss="absolute_error").fit(X, y)
    with pytest.raises(InvalidInputError, match="drops trees cannot go on from earlier rounds"):
        warm.set_params(loss="squared_error", drop_rate=0.5).fit(X, y)


def test_class_weights_are_weights_of_rows():
    X, y = classes()
    y[np.arange(len(y)) % 3 > 0] = "a"
    by_class = GradientBoostingClassifier(**FEW, class_weight={"a": 1, "b": 3}).fit(X, y)
    by_row = GradientBoostingClassifier(**FEW).fit(X, y, sample_weight=np.where(y == "b", 3.0, 1.0))
    same_trees(by_class, by_row)
    share = np.mean(y == "b")
    balanced = GradientBoostingClassifier(**FEW, class_weight="balanced").fit(X, y)
    assert balanced.start_[0] == pytest.approx(0) != pytest.approx(np.log(share / (1 - share)))


def test_large_tables_ask_for_more_in_a_leaf(monkeypatch):
    X, y, _ = numbers()
    labels, options = y > 1.5, {"n_estimators": 12, "max_depth": 3, "learning_rate": 1.0}
    fitted = lambda **own: GradientBoostingClassifier(**options, **own).fit(X, labels)  # noqa: E731
    small = fitted()
    same_trees(small, fitted(min_samples_leaf=20, min_child_weight=1e-3))
    monkeypatch.setattr(usual, "MANY_ROWS", len(X))
    large = fitted()
    same_trees(large, fitted(min_samples_leaf=1, min_child_weight=1.0))
    assert len(large.forest_.nodes.feature) != len(small.forest_.nodes.feature)


def test_an_exposure_is_an_offset():
    X, y, rng = numbers()
    exposure = rng.uniform(0.2, 5, len(y))
    count = rng.poisson(exposure * np.exp(y))
    model = GradientBoostingRegressor(**FEW, loss="poisson").fit(X, count, offset=np.log(exposure))
    np.testing.assert_allclose(model.predict(X, offset=np.log(exposure)), exposure * model.predict(X), rtol=1e-6)
    held = {"eval_set": [(X, count, None, {"offset": np.log(exposure)})], "eval_metric": "neg_mean_poisson_deviance"}
    again = GradientBoostingRegressor(**FEW, loss="poisson").fit(X, count, offset=np.log(exposure), **held)
    same_trees(again, model)
    result = again.evals_result_["validation_0"]
    np.testing.assert_allclose(-2 * np.array(result["poisson"]), result["neg_mean_poisson_deviance"], rtol=1e-6)


def test_several_outputs_share_their_trees():
    X, y, _ = numbers()
    several = np.column_stack([y, -2 * y, X[:, 2]])
    model = GradientBoostingRegressor(60, max_depth=4).fit(X, several)
    assert model.predict(X).shape == (300, 3) and model.n_estimators_ == 60 and model.score(X, several) > 0.8
    np.testing.assert_allclose(model.start_, several.mean(axis=0))
    np.testing.assert_allclose(model.predict(X)[:, 1], -2 * model.predict(X)[:, 0], rtol=1e-6, atol=1e-6)
    with pytest.raises(InvalidInputError, match="loss 'huber' has one target, got 3 columns"):
        GradientBoostingRegressor(loss="huber").fit(X, several)


def test_early_stopping_keeps_the_best_round_of_what_decides():
    X, y = classes()
    other = classes(seed=1)
    model = GradientBoostingClassifier(200, learning_rate=0.5, early_stopping=True, n_iter_no_change=5)
    model.fit(X, y, eval_set={"other": other})
    losses = model.evals_result_["other"]["log_loss"]
    assert model.n_estimators_ == int(np.argmin(losses)) + 1 == len(losses) - 5
    model.fit(X, y, eval_set=[other], eval_metric=["roc_auc", absolute()])
    result = model.evals_result_["validation_0"]
    assert list(result) == ["log_loss", "roc_auc", "absolute_error"]
    assert model.n_estimators_ == int(np.argmax(result["roc_auc"])) + 1 == len(result["roc_auc"]) - 5
    shares = list(model.staged_predict_proba(other[0]))
    own = [roc_auc_score(other[1], share[:, 1]) for share in shares]
    np.testing.assert_allclose(result["roc_auc"][: len(own)], own)


def test_metrics_are_names_losses_scorers_and_functions():
    X, y, _ = numbers()
    weight = np.linspace(0.5, 2, len(y))
    metrics = ["r2", "absolute_error", quantile(0.9), mean_absolute_error, r2_score]
    model = GradientBoostingRegressor(**FEW).fit(X, y, eval_set=[(X, y, weight)], eval_metric=metrics)
    result = model.evals_result_["validation_0"]
    names = ["squared_error", "r2", "absolute_error", "quantile(level=0.9)", "mean_absolute_error", "r2_score"]
    assert list(result) == names and all(len(column) == 12 for column in result.values())
    np.testing.assert_allclose(result["absolute_error"], result["mean_absolute_error"])
    np.testing.assert_allclose(result["r2"], result["r2_score"])
    assert result["r2"][-1] == pytest.approx(model.score(X, y, weight))
    for wrong, words in (("r3", "no loss with a name"), (3, "names, losses, scorers"), (["r2", "r2"], "once")):
        with pytest.raises(InvalidInputError, match=words):
            GradientBoostingRegressor(**FEW).fit(X, y, eval_set=[(X, y)], eval_metric=wrong)


def test_callbacks_are_told_and_may_end_a_fit(monkeypatch, capsys):
    monkeypatch.setattr("jaxtree.boosting.booster.ROUNDS_AT_A_TIME", 4)
    X, y, _ = numbers()
    seen = []

    def tell(number, result):
        seen.append((number, len(result["own"]["squared_error"])))
        return number == 8

    model = GradientBoostingRegressor(**FEW, verbose=3).fit(X, y, eval_set={"own": (X, y)}, callbacks=[tell])
    assert seen == [(4, 4), (8, 8)] and model.n_estimators_ == 8
    # A line every three rounds, whatever is made at once.
    losses, lines = model.evals_result_["own"]["squared_error"], capsys.readouterr().err.splitlines()
    for line, number in zip(lines, (3, 6), strict=True):
        assert line.startswith(f"boosting: {number} of 12 rounds, about ")
        assert line.endswith(f" left, own squared_error {losses[number - 1]:.5g}")


def interrupted(*arguments, **keywords):
    raise KeyboardInterrupt


def test_an_interrupt_keeps_the_rounds_that_were_made(monkeypatch):
    monkeypatch.setattr("jaxtree.boosting.booster.ROUNDS_AT_A_TIME", 4)
    X, y, _ = numbers()
    whole = GradientBoostingRegressor(**FEW).fit(X, y, eval_set=[(X, y)])
    model = GradientBoostingRegressor(**FEW, warm_start=True)
    with pytest.warns(InterruptedFitWarning, match="fit was interrupted: the model has been made in 8 of 12 rounds"):
        model.fit(X, y, eval_set=[(X, y)], callbacks=[lambda number, _: number == 8 and interrupted()])
    same_trees(model, whole.truncated(8))
    assert model.evals_result_ == whole.truncated(8).evals_result_
    same_trees(model.fit(X, y, eval_set=[(X, y)]), whole)
    monkeypatch.setattr("jaxtree.boosting.batch.make_rounds", interrupted)
    with pytest.raises(KeyboardInterrupt):
        GradientBoostingRegressor(**FEW).fit(X, y)


def exploding(scores, target, extras):
    return jnp.sqrt(0.3 - scores[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_leaves_the_numbers_names_the_round_and_keeps_the_trees():
    X, y, _ = numbers()
    loss = Loss(exploding, hessian="one", constant=lambda target, weight: np.zeros(1))
    with pytest.warns(
        InterruptedFitWarning, match=r"exploding\(\): derivatives after round \d+ are no numbers.*; its trees"
    ):
        model = GradientBoostingRegressor(100, max_depth=2, loss=loss).fit(X, y)
    assert 0 < model.n_estimators_ < 100 and np.isfinite(model.predict(X)).all()
    never = Loss(lambda scores, target, extras: scores[0] * jnp.nan, constant=lambda target, weight: np.zeros(1))
    with pytest.raises(TrainingError, match="at the scores of the start"):
        GradientBoostingRegressor(loss=never).fit(X, y)


@pytest.mark.parametrize(
    "fit, words",
    [
        ({"loss": "poisson"}, r"poisson\(\): a target must be 0 or more, got -"),
        ({"loss": logistic()}, r"logistic\(\): a target must be from 0 to 1"),
        ({"offset": np.zeros(3)}, "offset must have a value for each of 300 rows"),
        ({"offset": np.zeros((300, 2))}, r"must be an array of shape \(300,\) or \(300, 1\)"),
        ({"upper": np.zeros(300)}, "with loss='squared_error' takes no 'upper'; of every row it takes offset"),
        ({"loss": cox(), "event": np.zeros(300)}, r"cox\(ties='efron'\): a target must be 0 or more"),
        ({"eval_set": [np.zeros((2, 2))]}, r"eval_set must hold pairs \(X, y\)"),
        ({"loss": Loss(lambda scores, target, extras: scores[:, None])}, "must return one number, or one a score"),
        ({"offset": np.zeros(300), "eval_set": [numbers()[:2]]}, r"evaluation 0 must have .* the extras \['offset'\]"),
    ],
)
def test_bad_input_is_named(fit, words):
    X, y, _ = numbers()
    parameters = {"loss": fit.pop("loss")} if "loss" in fit else {}
    with pytest.raises(InvalidInputError, match=words):
        GradientBoostingRegressor(**FEW, **parameters).fit(X, y, **fit)


def test_rates_that_are_no_part_of_the_rows_are_named_and_a_search_leaves_them_out():
    X, y = classes()
    goss = GradientBoostingClassifier(**FEW, sampling="goss", top_rate=0.7)
    with pytest.raises(InvalidInputError, match="top_rate and other_rate must have a sum above 0 and of at most 1"):
        goss.set_params(other_rate=0.7).fit(X, y)
    search = jaxtree.SearchCV(goss, {"other_rate": [0.2, 0.7]}, cv=2)
    with pytest.warns(FitFailedWarning, match="top_rate and other_rate"):
        search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, False]


def test_numbers_past_those_of_32_bits_are_no_limits():
    X, y, _ = numbers()
    few = {"n_estimators": 3, "early_stopping": True, "random_state": 0}
    free = GradientBoostingRegressor(**few, max_leaf_nodes=None, n_iter_no_change=3).fit(X, y)
    large = dict.fromkeys(("max_depth", "max_leaf_nodes", "n_iter_no_change"), 2**40)
    same_trees(GradientBoostingRegressor(**few, **large).fit(X, y), free)


def test_named_losses_are_those_of_the_room():
    X, y, _ = numbers()
    by_name = GradientBoostingRegressor(**FEW, loss="poisson").fit(X, np.round(np.exp(y)))
    same_trees(by_name, GradientBoostingRegressor(**FEW, loss=poisson()).fit(X, np.round(np.exp(y))))


def test_the_best_round_is_that_which_decides_when_to_stop(tmp_path):
    X, y = classes()
    other = classes(seed=1)
    stopped = GradientBoostingClassifier(200, learning_rate=0.5, early_stopping=True, n_iter_no_change=5)
    stopped.fit(X, y, eval_set={"other": other})
    losses = stopped.evals_result_["other"]["log_loss"]
    assert stopped.best_iteration_ == stopped.n_estimators_ and stopped.best_score_ == min(losses)
    whole = GradientBoostingClassifier(20, learning_rate=0.5).fit(X, y, eval_set=[other, (X, y)], eval_metric="roc_auc")
    scores = whole.evals_result_["validation_0"]["roc_auc"]
    assert whole.best_iteration_ == int(np.argmax(scores)) + 1 < 20 == whole.n_estimators_
    assert (
        whole.best_score_
        == max(scores)
        == roc_auc_score(other[1], list(whole.staged_predict_proba(other[0]))[whole.best_iteration_ - 1][:, 1])
    )
    whole.save(tmp_path / "m")
    assert jaxtree.load(tmp_path / "m").best_iteration_ == whole.best_iteration_
    plain = GradientBoostingClassifier(2)
    with pytest.raises(NotFittedError):
        plain.best_iteration_  # noqa: B018
    with pytest.raises(AttributeError, match="eval_set or early_stopping: nothing was measured"):
        plain.fit(X, y).best_score_  # noqa: B018


@pytest.mark.parametrize(
    ("given", "said"),
    [("auc", "it is 'roc_auc' here"), ("rmse", "'neg_root_mean_squared_error' here"), ("logloss", "always measured")],
)
def test_other_libraries_names_of_metrics_are_answered(given, said):
    X, y = classes()
    with pytest.raises(InvalidInputError, match=f"eval_metric '{given}' is no loss .*{said}"):
        GradientBoostingClassifier(2).fit(X, y, eval_set=[(X, y)], eval_metric=given)


def test_every_suggested_metric_is_one():
    for name in peers().metrics.keys() - peers().metrics_elsewhere.keys():
        assert metric_of(name, LOSSES).name == name
