"""The length of a fit's way: how many functions of the package run, and in how many files.

Each is counted once, in a compiled fit on iris. Whoever adds a capability walks this way, and lowers the figures
where it became shorter; `pytest -s` prints them.
"""

import functools
import gc
import sys
import threading
from pathlib import Path

import numpy
import pandas
import pytest
from sklearn.datasets import load_iris

import jaxtree

PACKAGE = str(Path(jaxtree.__file__).parent)
X, Y = load_iris(return_X_y=True)
FEW = {"n_estimators": 5}


FRAME = pandas.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
FRAME["large"] = numpy.where(X[:, 0] > 5, "yes", "no")


def _search():
    estimator = jaxtree.GradientBoostingClassifier(**FEW)
    jaxtree.SearchCV(estimator, {"learning_rate": [0.1, 0.2, 0.3]}, cv=2).fit(X, Y)


WAYS = {
    "tree": (lambda: jaxtree.DecisionTreeClassifier().fit(X, Y), 190, 42),
    "tree of a frame": (lambda: jaxtree.DecisionTreeClassifier().fit(FRAME, Y), 229, 46),
    "forest": (lambda: jaxtree.RandomForestClassifier(10, random_state=0).fit(X, Y), 257, 51),
    "boosting": (lambda: jaxtree.GradientBoostingClassifier(**FEW).fit(X, Y), 270, 57),
    "folds": (lambda: jaxtree.GradientBoostingClassifier(**FEW, early_stopping="cv").fit(X, Y), 336, 67),
    "additive": (lambda: jaxtree.ExplainableBoostingClassifier(max_rounds=5).fit(X, Y), 319, 56),
    "search": (_search, 422, 75),
    "prediction": (lambda: _fitted(X).predict(X), 31, 14),
    "prediction of a frame": (lambda: _fitted(FRAME).predict(FRAME), 61, 17),
}
"""The calls, and how many functions and files of the package each ran when they were last counted."""

MORE = 1.05
"""How much longer a way may become before the test fails: a helper more is no fault, a detour is one."""


@functools.cache
def _fitted_once(of_frame):
    return jaxtree.DecisionTreeClassifier().fit(FRAME if of_frame else X, Y)


def _fitted(rows):
    return _fitted_once(rows is FRAME)


def way_of(call):
    """The functions of the package that a call runs, as pairs of file and name."""
    functions = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    gc.collect()  # what earlier tests left behind is not on this way
    gc.disable()
    threading.setprofile(note)  # of threads that begin: those of a forest's trees
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        gc.enable()
    return functions


@pytest.mark.parametrize("name", WAYS)
def test_a_way_is_no_longer_than_it_was(name):
    call, last_functions, last_files = WAYS[name]
    call()
    call()
    functions = way_of(call)
    files = {file for file, _ in functions}
    counted = f"{name}: {len(functions)} functions in {len(files)} files"
    print(counted)
    assert len(functions) <= last_functions * MORE and len(files) <= last_files * MORE, counted


def test_the_count_sees_functions_of_the_package_alone():
    assert way_of(lambda: sorted([2, 1])) == set()
    assert ("criteria.py", "gini") in {
        (Path(file).name, name) for file, name in way_of(lambda: jaxtree.criteria.gini(X[:2].T))
    }
