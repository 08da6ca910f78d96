"""Additive models in files: terms come back bit by bit, and terms that no fit makes are refused."""

import numpy as np
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files.container import read_model_file, write_model_file
from tests.examples import example, rows_of, unfitted


def test_a_loss_of_one_s_own_is_given_again(tmp_path):
    model, X = example("additive_own"), rows_of("additive_own")
    model.save(tmp_path / "model")
    numbers = unfitted()["additive_own"][2]
    absent, again = jaxtree.load(tmp_path / "model"), jaxtree.load(tmp_path / "model", loss=model.loss)
    assert again.loss is model.loss and again.loss_ is model.loss
    np.testing.assert_array_equal(again.fit(X, numbers).predict(X), model.predict(X))
    np.testing.assert_array_equal(absent.predict(X), model.predict(X))
    with pytest.raises(InvalidInputError, match=r"the loss 'lopsided' is the user's own.*load\(path, loss=lopsided"):
        absent.fit(X, numbers)


def test_times_of_events_come_back(tmp_path):
    X, row = rows_of("additive"), np.arange(60)
    few = {"outer_bags": 1, "max_rounds": 20, "interactions": 0}
    model = jaxtree.ExplainableBoostingRegressor(**few, loss="cox").fit(X, 1.0 + row % 17, event=row % 3 > 0)
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_median(X), model.predict_median(X))


def test_changes_by_hand_come_back(tmp_path):
    table, classes = unfitted()["additive"][1:]
    model = example("additive").monotonize("number").remove_terms(["size"])
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model")
    assert [str(edit) for edit in again.edits_] == [str(edit) for edit in model.edits_]
    assert again.cost_of_edits(table, classes) == model.cost_of_edits(table, classes)
    np.testing.assert_array_equal(again.raw_scores(table), model.raw_scores(table))


@pytest.mark.parametrize(
    ("array", "place", "value", "said"),
    [
        ("terms.layout.kind", 0, 7, "a term is of no kind"),
        ("terms.layout.kind", 0, 1, "a term divides a feature in a way that is not for its kind"),
        ("terms.layout.kind", 0, 2, "a term has more or fewer features than its kind"),
        ("terms.layout.features", 0, 4, "a term is of none of the 4 features that there are"),
        ("terms.layout.features", 0, -1, "a term is of none of the 4 features that there are"),
        ("terms.layout.bins", 0, 1, "the bins of a term do not divide the codes of its feature"),
        ("terms.layout.bins", 0, 60_000, "a code has a bin that its term does not have"),
        ("terms.layout.num_bins", 0, 0, "a term has an impossible number of bins"),
        ("terms.layout.num_bins", 0, 2**31 - 1, "a term has an impossible number of bins"),
        ("terms.layout.num_bins", 1, 2, "it does not have one value a bin"),
        ("terms.layout.monotone", 1, 1, "a term rises in no direction"),
        ("terms.intercept", 0, np.inf, "intercept has a value that is not finite"),
        ("terms.values", 0, np.nan, "values has a value that is not finite"),
        ("terms.errors", 0, -1.0, "errors has a value that is negative"),
        ("terms.weight", 0, -1.0, "weight has a value that is negative"),
        ("num_rounds", 0, -1, "its bags are not those of its terms"),
        ("bag_values", 0, np.nan, "bag_values has a value that is not finite"),
    ],
)
def test_terms_that_no_fit_makes_are_refused(array, place, value, said, tmp_path):
    example("additive").save(tmp_path / "model")
    content = read_model_file(tmp_path / "model")
    changed = content.arrays[array].copy()
    changed[place] = value
    write_model_file(tmp_path / "made_up", content._replace(arrays={**content.arrays, array: changed}))
    with pytest.raises(ModelFileError, match=said):
        jaxtree.load(tmp_path / "made_up")


@pytest.mark.parametrize("loss", [{"loss": ["squared", {}]}, {"loss": ["softmax", {"num_classes": 3}]}, "squared"])
def test_another_loss_is_refused(loss, tmp_path):
    example("additive").save(tmp_path / "model")
    content = read_model_file(tmp_path / "model")
    content.header["fitted"]["loss"] = loss
    write_model_file(tmp_path / "made_up", content)
    with pytest.raises(ModelFileError, match=r"its loss (is|has)"):
        jaxtree.load(tmp_path / "made_up")
