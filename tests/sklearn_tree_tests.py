"""Runs scikit-learn's own tests of its trees with jaxtree's classes in place of scikit-learn's.

    python tests/sklearn_tree_tests.py                      # the pass count, and each failure with its reason
    python tests/sklearn_tree_tests.py -k missing_values    # some of them, as pytest's -k
    python tests/sklearn_tree_tests.py --list               # what is counted, and what is left out and why
    python tests/sklearn_tree_tests.py --theirs             # scikit-learn's own classes: all must pass

The tests are those of `sklearn/tree/tests/test_tree.py`. One test is one pytest node id, that is, one case of a
parametrized function. The rule of counting: a test is left out if its id says that it is about

- extra trees: a class or function of them stands in the id, or the function (the random splitter's) uses nothing else;
- the absolute error: "absolute_error" stands in the id, or the function is `test_mae`;
- Cython internals: the function hands Cython structs, splitters or criteria around, or damages their pickles.

Of the 525 tests of scikit-learn 1.9.1, 131 are counted. The rule reads words and is strict: six pruning tests on the
data sets "sparse-pos", "sparse-neg" and "sparse-mix", dense arrays in spite of their names, go with the first point.
The tests that loop over tables of classes meet the extra trees of scikit-learn too; those stay as they are.

The exit status is 0 if every failure is one of `EXPLAINED` and at least 90 % pass.
"""

import argparse
import contextlib
import os
import sys
from collections import Counter

import pytest

TESTS = "sklearn.tree.tests.test_tree"
VERSION = "1.9.1"
COUNTED = 131
LEAST_SHARE = 0.9
REPLACED = ("DecisionTreeClassifier", "DecisionTreeRegressor")

LEFT_OUT = {
    "extra trees": ("ExtraTree", "extra_tree", "random_splitter"),
    "absolute error": ("absolute_error", "test_mae"),
    "Cython internals": (
        "test_build_pruned_tree",
        "test_check_n_classes",
        "test_check_node_ndarray",
        "test_check_value_ndarray",
        "test_criterion_copy",
        "test_different_bitness",
        "test_different_endianness",
        "test_huge_allocations",
        "test_realloc",
        "test_splitter_serializable",
        "test_tree_deserialization",
    ),
}
"""Words of an id, by what the test is then about."""

EXPLAINED = {
    "test_almost_constant_feature": "values are told apart however close they lie; scikit-learn takes values within "
    "1e-7 for equal, so that its tree depends on the unit of a column",
    "test_big_input": "numbers are compared in float64, where 1e40 is no overflow; scikit-learn casts to float32",
}
"""Failures that are known, by words of their ids."""


def subject(node_id):
    """What a test that is left out is about; None for a counted one."""
    for name, words in LEFT_OUT.items():
        if any(word in node_id for word in words):
            return name
    return None


def reason(node_id):
    """Why a test is known to fail; None if it should pass."""
    return next((why for words, why in EXPLAINED.items() if words in node_id), None)


class Run:
    """A pytest plugin: puts our classes in place while the test module is imported, and keeps the results."""

    def __init__(self, replacements):
        self.replacements = replacements
        self.left_out = []
        self.outcomes = {}
        self.messages = {}
        self.swap = contextlib.ExitStack()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self):
        """Before the import: the tables of classes and the parameters of the tests are made by it."""
        import sklearn.tree

        for name, ours in self.replacements.items():
            self.swap.callback(setattr, sklearn.tree, name, getattr(sklearn.tree, name))
            setattr(sklearn.tree, name, ours)

    def pytest_collection_modifyitems(self, items):
        self.swap.close()
        self.left_out = [(item.name, about) for item in items if (about := subject(item.name))]
        items[:] = [item for item in items if not subject(item.name)]

    def pytest_collection_finish(self, session):
        # Only here has pytest's -k done its part.
        self.outcomes = dict.fromkeys(item.name for item in session.items)

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.split("::")[-1]
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[name] = report.outcome
        if report.failed:
            self.messages[name] = report.longrepr


def run(replacements, pattern, list_only):
    """Runs the tests; no configuration of the folder around is read, and one seed of scikit-learn's hundred is used."""
    os.environ["SKLEARN_TESTS_GLOBAL_RANDOM_SEED"] = "42"
    plugin = Run(replacements)
    arguments = ["--pyargs", TESTS, "-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:terminal"]
    arguments += ["-W", "ignore", "-k", pattern or ""] + ["--collect-only"] * list_only
    status = pytest.main(arguments, plugins=[plugin])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"pytest could not run {TESTS}: {pytest.ExitCode(status).name}")
    return plugin


def our_classes():
    import jaxtree

    return {name: getattr(jaxtree, name) for name in REPLACED}


def print_list(plugin):
    for name in plugin.outcomes:
        print(f"counted   {name}" + (f"   (known to fail: {reason(name)})" if reason(name) else ""))
    for name, about in plugin.left_out:
        print(f"left out  {name}   ({about})")
    print(f"{len(plugin.outcomes)} counted; left out: {left_out_counts(plugin)}")


def left_out_counts(plugin):
    return ", ".join(f"{count} {about}" for about, count in Counter(about for _, about in plugin.left_out).items())


def print_failures(failed, plugin, explain):
    for name in failed:
        why = explain(name)
        print(f"FAILED  {name}\n        {why or 'NOT EXPLAINED'}")
        if not why:
            lines = str(plugin.messages.get(name, "skipped")).splitlines()
            print("\n".join(f"        | {line}" for line in lines[-12:]))


def judge(plugin, explain):
    """Prints the results and returns the exit status."""
    failed = [name for name, outcome in plugin.outcomes.items() if outcome != "passed"]
    print_failures(failed, plugin, explain)
    reasons = {explain(name) for name in plugin.outcomes} - {explain(name) for name in failed}
    for why in sorted(reasons - {None}):
        print(f"no failure has this reason any more: {why}")
    total = len(plugin.outcomes)
    passed = total - len(failed)
    unexplained = sum(not explain(name) for name in failed)
    print(f"\n{passed} of {total} pass ({passed / total:.1%}); {unexplained} of {len(failed)} failures not explained")
    print(f"left out: {left_out_counts(plugin)}")
    return 1 if unexplained or passed < LEAST_SHARE * total else 0


def check_count(plugin, pattern):
    import sklearn

    total = len(plugin.outcomes)
    print(f"scikit-learn {sklearn.__version__}, {total} tests counted")
    if sklearn.__version__ != VERSION:
        print(f"note: the rule and the reasons were written for scikit-learn {VERSION}")
    elif not pattern and total != COUNTED:
        raise SystemExit(f"the rule must count {COUNTED} tests of scikit-learn {VERSION}, not {total}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", dest="pattern", help="run only the tests that match, as pytest's -k")
    parser.add_argument("--list", action="store_true", help="list what is counted and what is left out, run nothing")
    parser.add_argument("--theirs", action="store_true", help="leave scikit-learn's own classes in place")
    arguments = parser.parse_args()
    plugin = run({} if arguments.theirs or arguments.list else our_classes(), arguments.pattern, arguments.list)
    check_count(plugin, arguments.pattern)
    if arguments.list:
        print_list(plugin)
        return 0
    return judge(plugin, (lambda name: None) if arguments.theirs else reason)


if __name__ == "__main__":
    sys.exit(main())
