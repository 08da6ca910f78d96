"""Searches that are taken up again: with the bits of those that were not interrupted, and never from another's file."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import KFold

import jaxtree
from jaxtree import SearchCV
from jaxtree.errors import InvalidInputError
from jaxtree.search.journal import Journal
from tests.marks import are_slow
from tests.search.beside import FOLDS, numbers, targets, words

X, CLASSES = numbers()
_, NUMBERS = targets()
TREES = {"max_depth": [1, 2, 3], "criterion": ["gini", "entropy"]}
DRAWN = {"n_iter": 6, "random_state": 0}
RATES = {"learning_rate": loguniform(0.05, 0.5), "max_leaf_nodes": [3, 5], "n_estimators": [6, 9]}
BOOSTED = jaxtree.GradientBoostingRegressor(random_state=0, subsample=0.8)
SEARCHES = {
    "trees": (SearchCV(jaxtree.DecisionTreeClassifier(), TREES,
                       return_train_score=True, scoring=["accuracy", "neg_log_loss"], refit="accuracy"), CLASSES),
    "boosted": (SearchCV(BOOSTED, RATES, refit="ensemble", **DRAWN), NUMBERS),
    "halving": (SearchCV(BOOSTED, RATES, factor=2, min_resources=2, **DRAWN), NUMBERS),
    "forests": (SearchCV(jaxtree.RandomForestClassifier(3, random_state=0), {"max_depth": [1, 2], "n_estimators": [2]},
                         error_score=0.0), CLASSES),
    "some fail": (SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [-1, 1, 2], "min_samples_leaf": [1, 2]}),
                  CLASSES),
    "additive": (SearchCV(jaxtree.ExplainableBoostingRegressor(outer_bags=1, random_state=0),
                          {"max_rounds": [3, 5], "learning_rate": [0.1, 0.2]}), NUMBERS),
}  # fmt: skip


def fitted(name, path=None, **changes):
    search, y = SEARCHES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(search).set_params(cv=FOLDS, resume=path, **changes).fit(X, y)


@pytest.fixture(scope="module")
def whole():
    made = {}
    return lambda name: made.get(name) or made.setdefault(name, fitted(name))


def assert_same_bits(one, other):
    """All results of two searches but the times."""
    assert one.cv_results_.keys() == other.cv_results_.keys()
    for name, values in one.cv_results_.items():
        if "time" not in name and name != "params":
            found = other.cv_results_[name]
            assert np.asarray(values).dtype == np.asarray(found).dtype, name
            np.testing.assert_array_equal(np.asarray(values), np.asarray(found), err_msg=name)
    assert list(map(repr, one.cv_results_["params"])) == list(map(repr, other.cv_results_["params"]))
    for name in ("best_index_", "best_score_", "best_params_", "n_resources_", "n_candidates_", "n_splits_"):
        assert repr(getattr(one, name, None)) == repr(getattr(other, name, None)), name
    for name in ("oof_predictions_", "ensemble_weights_"):
        np.testing.assert_array_equal(getattr(one, name, 0), getattr(other, name, 0))
    curves = [[own.tolist() for folds in search.learning_curves_ for own in folds] for search in (one, other)
              if hasattr(search, "learning_curves_")]  # fmt: skip
    assert len(curves) in (0, 2) and all(own == curves[0] for own in curves)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def interrupt_after(monkeypatch, number):
    """Interrupts a search when the journal has so many further fits."""
    keep, left = Journal.keep, [number]

    def kept(self, *arguments):
        keep(self, *arguments)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "keep", kept)
    return lambda: monkeypatch.setattr(Journal, "keep", keep)


def fits_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("name", are_slow(SEARCHES, "forests", "some fail", "additive"))
@pytest.mark.parametrize("number", [1, 4])
def test_an_interrupted_search_goes_on_with_the_same_bits(name, number, whole, tmp_path, monkeypatch):
    path = tmp_path / "search.jsonl"
    go_on = interrupt_after(monkeypatch, number)
    with contextlib.suppress(KeyboardInterrupt):  # with which boosted trees end
        fitted(name, path)
    go_on()
    done = fits_in(path)
    assert len(done) >= number
    assert_same_bits(fitted(name, path), whole(name))
    every = fits_in(path)
    # No fit is made twice, and what stood there stands there.
    assert every[: len(done)] == done
    assert len({(own["rung"], own["setting"], own["fold"]) for own in every}) == len(every)


@pytest.mark.parametrize("name", ["trees", "halving"])
def test_a_search_that_has_ended_is_read(name, whole, tmp_path, monkeypatch):
    path = tmp_path / "search.jsonl"
    fitted(name, path)
    before = path.read_bytes()
    monkeypatch.setattr(Journal, "keep", lambda *_: pytest.fail("a fit was made"))
    assert_same_bits(fitted(name, path), whole(name))
    assert path.read_bytes() == before


def test_a_line_that_was_not_written_to_its_end_is_cut_off(whole, tmp_path):
    path = tmp_path / "search.jsonl"
    fitted("trees", path)
    lines = path.read_bytes().splitlines(keepends=True)
    for torn in (lines[5][:40], lines[5][:-1], b"\0" * 30):
        path.write_bytes(b"".join(lines[:5]) + torn)
        assert_same_bits(fitted("trees", path), whole("trees"))
        assert len(path.read_bytes().splitlines()) == len(lines)
    path.write_bytes(b"".join([*lines[:5], b"{\n", *lines[5:]]))
    with pytest.raises(InvalidInputError, match=r"line 6 of .* is damaged"):
        fitted("trees", path)


KILLED = """
import sys, numpy as np
from tests.search.test_resume import SEARCHES, X
from tests.search.beside import FOLDS
from jaxtree.search.journal import Journal
keep, left = Journal.keep, [int(sys.argv[3])]
def kept(self, *arguments):
    keep(self, *arguments)
    left[0] -= 1
    if not left[0]:
        print("now", flush=True)
        import time
        time.sleep(60)
Journal.keep = kept
search, y = SEARCHES[sys.argv[1]]
search.set_params(cv=FOLDS, resume=sys.argv[2]).fit(X, y)
"""


def test_a_killed_search_goes_on_with_the_same_bits(whole, tmp_path):
    path = tmp_path / "search.jsonl"
    process = subprocess.Popen([sys.executable, "-c", KILLED, "trees", str(path), "5"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"now\n"
    with pytest.raises(InvalidInputError, match="another process writes into"):
        fitted("trees", path)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(fits_in(path)) == 5
    assert_same_bits(fitted("trees", path), whole("trees"))


OTHERS = {
    "table": lambda search: (search, X + 1, CLASSES),
    "target": lambda search: (search, X, CLASSES[::-1]),
    "folds": lambda search: (search.set_params(cv=KFold(3, shuffle=True, random_state=1)), X, CLASSES),
    "estimator": lambda search: (search.set_params(estimator__min_samples_leaf=2), X, CLASSES),
    "settings": lambda search: (search.set_params(param_grid={"max_depth": [1]}), X, CLASSES),
    "scoring": lambda search: (search.set_params(scoring="f1_macro"), X, CLASSES),
    "options": lambda search: (search.set_params(return_train_score=True), X, CLASSES),
}


@pytest.mark.parametrize("what", OTHERS)
def test_the_file_of_another_search_is_refused(what, tmp_path):
    path = tmp_path / "search.jsonl"
    search = SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=FOLDS, resume=path)
    search.fit(X, CLASSES)
    before = path.read_bytes()
    other, table, target = OTHERS[what](clone(search))
    with pytest.raises(InvalidInputError, match=f"which differs in its {what}"):
        other.fit(table, target)
    assert path.read_bytes() == before


def test_the_file_of_another_version_weight_or_kind_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "search.jsonl"
    search = SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=FOLDS, resume=path)
    search.fit(X, CLASSES)
    with pytest.raises(InvalidInputError, match="differs in its fit arguments"):
        search.fit(X, CLASSES, sample_weight=np.arange(len(X)))
    with monkeypatch.context() as patch:
        patch.setitem(vars(jaxtree), "__version__", "0.0.1")
        with pytest.raises(InvalidInputError, match=r"differs in its jaxtree .* and is 0\.0\.1"):
            search.fit(X, CLASSES)
    (tmp_path / "other").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match="is no file of a search"):
        search.set_params(resume=tmp_path / "other").fit(X, CLASSES)
    with pytest.raises(InvalidInputError, match=r"name the file search\.jsonl, got 'search\.parquet'"):
        search.set_params(resume="search.parquet").fit(X, CLASSES)


def test_what_cannot_be_made_again_is_refused():
    generator = np.random.RandomState(0)
    own = SearchCV(
        jaxtree.RandomForestClassifier(2, random_state=generator), {"max_depth": [1]}, cv=FOLDS, resume="s.jsonl"
    )
    with pytest.raises(InvalidInputError, match="random_state is a generator"):
        own.fit(X, CLASSES)
    for options in ({"n_iter": 2}, {"n_iter": 2, "random_state": generator}):
        own = SearchCV(
            jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, cv=FOLDS, resume="s.jsonl", **options
        )
        with pytest.raises(InvalidInputError, match="random_state must be a whole number"):
            own.fit(X, CLASSES)
    assert not os.path.exists("s.jsonl")


HASHES = """
from jaxtree.search.journal import made_with
from tests.search.test_resume import problem
print(made_with(*problem()))
"""


def problem():
    from jaxtree.search.evaluation import Search

    table, classes = words(missing=True)
    pruning = jaxtree.Pessimistic()
    search = Search(jaxtree.DecisionTreeClassifier(pruning=pruning), table, classes, FOLDS, fit_params={"w": {"a": 1}})
    settings = [{"pruning__confidence": 0.1, "class_weight": {"no": 2.0, "yes": 1.0}}]
    return (
        search,
        settings,
        {"own": make_scorer(accuracy_score), "f": words},
        {"a": {"x", "y"}},
    )


def test_another_process_finds_the_same_hashes():
    from jaxtree.search.journal import made_with

    env = os.environ | {"PYTHONHASHSEED": "7"}
    said = subprocess.run([sys.executable, "-c", HASHES], env=env, capture_output=True, text=True, check=True).stdout
    assert said.strip() == str(made_with(*problem()))


def test_lines_stand_in_the_file_while_it_runs(tmp_path, monkeypatch):
    path, seen = tmp_path / "search.jsonl", []
    keep = Journal.keep

    def kept(self, *arguments):
        keep(self, *arguments)
        seen.append(len(path.read_bytes().splitlines()))

    monkeypatch.setattr(Journal, "keep", kept)
    fitted("trees", path)
    assert seen == list(range(2, len(seen) + 2)) and len(seen) == 18


def test_a_search_that_is_taken_up_tells_what_is_known_and_the_best(tmp_path, monkeypatch, capsys):
    path = tmp_path / "search.jsonl"
    go_on = interrupt_after(monkeypatch, 12)
    with pytest.raises(KeyboardInterrupt):
        fitted("trees", path)
    go_on()
    capsys.readouterr()
    search = fitted("trees", path, verbose=1)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("6 settings x 3 folds: 66.7%, about ") and "s left, best accuracy 0." in first
    assert last.startswith(f"6 settings x 3 folds: 100%, best accuracy {search.best_score_:.4g},")
