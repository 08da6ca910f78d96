"""The length of a fit's way: how many functions of the package run, and in how many files.

Each is counted once, in a compiled fit on iris. Whoever adds a capability walks this way: the ceilings fall, and do not
rise. Twice they did: since fits choose their device, each asks by seven functions where it computes; and a forest's are
those of its threads, too, which were not counted before.
"""

import gc
import sys
import threading
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import jaxtree

PACKAGE = str(Path(jaxtree.__file__).parent)
X, Y = load_iris(return_X_y=True)
FEW = {"n_estimators": 5}


def _search():
    estimator = jaxtree.GradientBoostingClassifier(**FEW)
    jaxtree.BoostSearchCV(estimator, {"learning_rate": [0.1, 0.2, 0.3]}, cv=2).fit(X, Y)


WAYS = {
    "tree": (lambda: jaxtree.DecisionTreeClassifier().fit(X, Y), 265, 45),
    "forest": (lambda: jaxtree.RandomForestClassifier(10, random_state=0).fit(X, Y), 339, 53),
    "boosting": (lambda: jaxtree.GradientBoostingClassifier(**FEW).fit(X, Y), 334, 60),
    "search": (_search, 515, 81),
    "prediction": (lambda: _fitted().predict(X), 40, 15),
}
"""What is called, and the most functions and files of the package that it may run."""

_TREES = []


def _fitted():
    if not _TREES:
        _TREES.append(jaxtree.DecisionTreeClassifier().fit(X, Y))
    return _TREES[0]


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
    call, most_functions, most_files = WAYS[name]
    call()
    call()
    functions = way_of(call)
    files = {file for file, _ in functions}
    counted = f"{len(functions)} functions in {len(files)} files"
    assert len(functions) <= most_functions and len(files) <= most_files, counted


def test_the_count_sees_functions_of_the_package_alone():
    assert way_of(lambda: sorted([2, 1])) == set()
    assert ("criteria.py", "gini") in {
        (Path(file).name, name) for file, name in way_of(lambda: jaxtree.criteria.gini(X[:2].T))
    }
