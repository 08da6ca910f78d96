"""Boosted trees in files: losses come back by name, and one of the user's own by the user."""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree import boosting
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files.container import read_model_file, write_model_file
from jaxtree.files.losses import AbsentLoss, maker_of
from jaxtree.files.records import from_json, to_json
from jaxtree.losses import distributions
from tests.examples import example, lopsided, rows_of, unfitted

SHIPPED = [
    *(boosting.squared(), boosting.absolute(), boosting.huber(2.5), boosting.pseudo_huber(0.1), boosting.quantile(0.9)),
    *(boosting.quantiles([0.1, 0.5]), boosting.expectile(0.2), boosting.logistic(), boosting.softmax(4, "diagonal")),
    *(boosting.poisson(), boosting.gamma(), boosting.tweedie(1.2), boosting.cox("breslow"), boosting.pairwise()),
    *(boosting.accelerated_failure_time("extreme", None), boosting.ndcg(5), boosting.average_precision()),
    *(getattr(distributions, name)() for name in distributions.__all__),
    distributions.student_t(3.0),
]


@pytest.mark.parametrize("loss", SHIPPED, ids=repr)
def test_a_loss_that_ships_comes_back_as_an_equal_one(loss):
    written = to_json(loss)
    assert list(written) == ["loss"]
    assert from_json(written) == loss


def brier(scores, target, extras):
    return jnp.sum((jax.nn.softmax(scores) - (jnp.arange(len(scores)) == target)) ** 2)


def test_losses_of_one_name_are_told_apart():
    assert maker_of(boosting.gamma()) == ("gamma", {}) and maker_of(distributions.gamma()) == (
        "distributions.gamma",
        {},
    )
    impostor = boosting.Loss(lopsided, name="huber", parameters=(("delta", 1.0),))
    assert maker_of(impostor) is None and list(to_json(impostor)) == ["loss of the user"]


def test_a_loss_of_one_s_own_is_given_again(tmp_path):
    model, X = example("boosted_own"), rows_of("boosted_own")
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model", loss=model.loss)
    assert again.loss is model.loss and again.loss_ is model.loss
    numbers = unfitted()["boosted_own"][2]
    np.testing.assert_array_equal(again.fit(X, numbers).predict(X), model.predict(X))


def test_without_its_loss_a_model_has_scores_and_names_what_it_lacks(tmp_path):
    X = rows_of("boosted_own")
    estimator, _, numbers = unfitted()["boosted_own"]
    own = boosting.Loss(lopsided, link=lambda scores: 2 * scores)
    model = clone(estimator).set_params(loss=own).fit(X, numbers)
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model")
    assert isinstance(again.loss_, AbsentLoss)
    np.testing.assert_array_equal(again.raw_scores(X), model.raw_scores(X))
    for use in (lambda: again.predict(X), lambda: again.fit(X, numbers)):
        with pytest.raises(
            InvalidInputError, match=r"the loss 'lopsided' is the user's own.*load\(path, loss=lopsided"
        ):
            use()
    again.save(tmp_path / "again")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "again", loss=own).predict(X), model.predict(X))


@pytest.mark.parametrize("make", [jaxtree.GradientBoostingClassifier, jaxtree.SoftTreeClassifier])
@pytest.mark.parametrize("num_classes", [2, 3])
def test_a_function_is_kept_as_a_loss_and_given_again(make, num_classes, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5][: num_classes - 1])
    few = {"n_estimators": 3} if make is jaxtree.GradientBoostingClassifier else {"depth": 1, "max_epochs": 2}
    for given in (brier, boosting.Loss(brier, num_classes)):
        model = make(loss=given, random_state=0, **few).fit(X, y)
        model.save(tmp_path / "model")
        absent, again = jaxtree.load(tmp_path / "model"), jaxtree.load(tmp_path / "model", loss=given)
        assert again.loss is given and absent.loss.name == "brier"
        for loaded in (absent, again):
            np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))


def test_a_loss_that_does_not_belong_there_is_refused(tmp_path):
    example("boosted").save(tmp_path / "shipped")
    example("boosted_own").save(tmp_path / "own")
    with pytest.raises(ModelFileError, match="this file has none"):
        jaxtree.load(tmp_path / "shipped", loss=boosting.Loss(lopsided))
    for wrong in (boosting.Loss(lopsided, 2), 3):
        with pytest.raises(ModelFileError, match="loss must be the loss 'lopsided', a Loss of 1 scores or its"):
            jaxtree.load(tmp_path / "own", loss=wrong)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ({"loss": ["boost", {}]}, "its header has a loss that is none"),
        ({"loss": ["huber", {"delta": -1.0}]}, "delta of huber must be a number above 0"),
        ({"loss": ["softmax", {"num_classes": 4}]}, "its loss has another number of scores"),
        ({"loss of the user": ["mine", 1, "eval"]}, "its header has a loss of the user that is none"),
        ({"loss of the user": ["mine", -1, None]}, "num_scores must be 1 or more"),
        ("squared", "its loss is none"),
    ],
)
def test_made_up_losses_are_refused(loss, said, tmp_path):
    example("boosted_regression").save(tmp_path / "model")
    content = copy.deepcopy(read_model_file(tmp_path / "model"))
    content.header["fitted"]["loss"] = loss
    write_model_file(tmp_path / "made_up", content)
    with pytest.raises(ModelFileError, match=said):
        jaxtree.load(tmp_path / "made_up")
