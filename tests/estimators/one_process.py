"""One of two processes that fit together, run by `test_processes.py`: `one_process.py RANK PORT WHAT`."""

import dataclasses
import os
import sys
import time

import jax
import numpy as np
import pandas as pd
from jax.sharding import Mesh
from sklearn.base import clone

import jaxtree
from jaxtree.additive import fit
from jaxtree.dataset.exchange import exchange_of
from jaxtree.estimators.common import growing

ROWS, FIRST_PART = 2500, 1000


def tables():
    """Numbers of which some are missing in one part only, words that differ between the parts, and both targets."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(ROWS, 3)).round(2)
    numbers[:50, 1] = np.nan
    words = np.where(np.arange(ROWS) < FIRST_PART, rng.choice(["a", "c"], ROWS), rng.choice(["b", "c"], ROWS))
    X = np.column_stack([numbers.astype(object), words.astype(object)])
    label = np.array(["x", "y", "z"])[(numbers[:, 0] + numbers[:, 2] > 0) + (words == "a").astype(int)]
    target = 2 * numbers[:, 0] + (words == "b") + rng.normal(size=ROWS)
    return X, label, target, rng.exponential(size=ROWS)


def assert_same(together, alone):
    assert together.schema_ == alone.schema_
    for field in dataclasses.fields(alone.tree_):
        a, b = getattr(together.tree_, field.name), getattr(alone.tree_, field.name)
        if field.name in ("gain", "impurity"):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)


def fit_both(part, mesh):
    X, label, target, weight = tables()
    classifier = jaxtree.DecisionTreeClassifier(max_depth=4, max_bins=64, ccp_alpha=0.001)
    regressor = jaxtree.DecisionTreeRegressor(max_depth=4, max_bins=64)
    assert_same(classifier.fit(X[part], label[part], mesh=mesh), clone(classifier).fit(X, label))
    assert_same(regressor.fit(X[part], target[part], weight[part], mesh=mesh), clone(regressor).fit(X, target, weight))
    print("same trees")


def assert_same_rounds(together, alone):
    assert together.schema_ == alone.schema_
    for field in dataclasses.fields(alone.forest_.nodes):
        a, b = (np.asarray(getattr(model.forest_.nodes, field.name)) for model in (together, alone))
        if field.name == "gain":
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)
    np.testing.assert_array_equal(together.start_, alone.start_)
    assert together.evals_result_ == alone.evals_result_


def fit_boosting(part, mesh):
    """Classes with rows drawn and early stopping; medians with offsets, weights, and rows of no weight."""
    X, label, target, weight = tables()
    weight, offset = np.where(np.arange(ROWS) % 7, weight, 0), np.arange(ROWS) % 3.0
    ends = {"early_stopping": True, "n_iter_no_change": 3, "learning_rate": 0.5}
    stopped = jaxtree.GradientBoostingClassifier(30, max_depth=3, subsample=0.7, random_state=1, **ends)
    given = {"eval_set": {"first": (X[:300], label[::-1][:300])}, "eval_metric": "accuracy"}
    median = jaxtree.GradientBoostingRegressor(8, max_depth=3, loss="absolute_error")
    stopped.fit(X[part], label[part], mesh=mesh, **given)
    median.fit(X[part], target[part], weight[part], offset=offset[part], mesh=mesh)
    for model in (stopped, median):
        for threshold in exchange_of(mesh).gather(model.forest_.nodes.threshold):
            np.testing.assert_array_equal(threshold, model.forest_.nodes.threshold)
    if jax.process_index() == 0:
        assert_same_rounds(stopped, clone(stopped).fit(X, label, **given))
        assert_same_rounds(median, clone(median).fit(X, target, weight, offset=offset))
        assert stopped.n_estimators_ < 30
    print("same rounds")


def fit_words(part, mesh):
    """Boosting and trees of a column of many words, some of which one process alone has."""
    X, label, target, weight = tables()
    word = np.random.default_rng(0).permutation(ROWS) % 500 * (np.arange(ROWS) % 3)
    frame = pd.DataFrame({"word": [f"w{number}" for number in word], "x": X[:, 0].astype(float)})
    boosted = jaxtree.GradientBoostingClassifier(5, max_depth=3)
    boosted.fit(frame[part], label[part], mesh=mesh)
    trees = [
        (jaxtree.DecisionTreeClassifier(max_depth=5), label, None),
        (jaxtree.DecisionTreeRegressor(max_depth=5), target, weight),
    ]
    for tree, y, own in trees:
        tree.fit(frame[part], y[part], None if own is None else own[part], mesh=mesh)
    if jax.process_index() == 0:
        assert boosted.schema_.columns[0].rare_words is not None
        assert_same_rounds(boosted, clone(boosted).fit(frame, label))
        for tree, y, own in trees:
            assert_same(tree, clone(tree).fit(frame, y, own))
    print("same statistics")


def fit_boosting_wrongly(part, mesh):
    """Fits that need all rows in one process, and arguments that must be the same in all."""
    X, label, _, _ = tables()
    own = slice(0, 50 + jax.process_index())
    tries = [
        ({"early_stopping": True}, {}),
        ({"warm_start": True}, {}),
        ({"subsample": 0.5, "random_state": jax.process_index()}, {}),
        ({}, {"eval_set": [(X[own], label[own])]}),
    ]
    for parameters, given in tries:
        model = jaxtree.GradientBoostingClassifier(2, **parameters)
        try:
            model.fit(X[part], label[part], mesh=mesh, **given)
        except jaxtree.errors.InvalidInputError as error:
            assert not hasattr(model, "classes_")
            print(error)


def assert_same_terms(together, alone):
    assert together.schema_ == alone.schema_ and together.term_names_ == alone.term_names_
    for name in ("bag_values_", "num_rounds_", "intercept_", "term_importances_"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name), err_msg=name)
    for name in ("values", "errors", "weight"):
        np.testing.assert_array_equal(getattr(together.additive_, name), getattr(alone.additive_, name), err_msg=name)


def fit_additive(part, mesh):
    """Losses that read rows again and again, and one that does so once; rows of groups, and of bags of their own."""
    X, label, target, weight = tables()
    some, offset = np.where(np.arange(ROWS) % 7, weight, 0), np.arange(ROWS) % 3.0
    group, event = np.array([f"of {number % 90}" for number in range(ROWS)]), np.arange(ROWS) % 3 > 0
    few = {"outer_bags": 2, "max_rounds": 60, "max_bins": 32, "max_interaction_bins": 8, "interactions": 2}
    classifier = jaxtree.ExplainableBoostingClassifier(**few)
    regressor = jaxtree.ExplainableBoostingRegressor(**few)
    cases = [
        (classifier, {"class_weight": "balanced", "max_samples": 1500}, label, {}),
        (regressor, {}, target, {"sample_weight": some, "group": group}),
        (regressor, {"gram_memory": 0.0}, target, {}),
        (regressor, {"loss": "poisson"}, np.floor(2 * weight), {"offset": offset}),
        (regressor, {"loss": "cox", "outer_bags": 1}, weight + 0.1, {"event": event}),
    ]
    for model, options, y, extras in cases:
        together = clone(model).set_params(**options)
        together.fit(X[part], y[part], mesh=mesh, **{name: values[part] for name, values in extras.items()})
        for values in exchange_of(mesh).gather(together.additive_.values):
            np.testing.assert_array_equal(values, together.additive_.values)
        if jax.process_index() == 0:
            alone = clone(together).fit(X, y, **extras)
            assert_same_terms(together, alone)
            if "event" in extras:
                np.testing.assert_array_equal(together.predict_median(X), alone.predict_median(X))
    print("same terms")


def fit_additive_wrongly(part, mesh):
    """Arguments that must be the same in all processes, and one that is wrong in one."""
    X, label, _, weight = tables()
    rank = jax.process_index()
    tries = [
        ({"random_state": rank}, {}),
        ({}, {"sample_weight": None if rank else weight[part]}),
        ({}, {} if rank else {"offset": weight[part]}),
        ({}, {"offset": np.full(len(label[part]), np.nan if rank else 0.0)}),
        ({"max_rounds": 1 - rank}, {}),
    ]
    for parameters, given in tries:
        model = jaxtree.ExplainableBoostingClassifier(outer_bags=1, interactions=0, **parameters)
        try:
            model.fit(X[part], label[part], mesh=mesh, **given)
        except jaxtree.errors.JaxtreeError as error:
            assert not hasattr(model, "classes_")
            print(f"{type(error).__name__}: {error}")


def fit_classical(part, mesh):
    """Multiway splits, rows shared out, weights of classes, and rows without weight."""
    X, label, _, weight = tables()
    weight = np.where(np.arange(ROWS) % 7, weight, 0)
    trees = [
        jaxtree.C45Classifier(subtree_raising=False, max_depth=4, class_weight="balanced"),
        jaxtree.ID3Classifier(max_depth=3, max_bins=16),
    ]
    for tree in trees:
        assert_same(tree.fit(X[part], label[part], weight[part], mesh=mesh), clone(tree).fit(X, label, weight))
    print("same trees")


def fit_while_the_other_dies(part, mesh):
    fit_beside_a_dead_process(part, mesh, lambda: os._exit(1))


def fit_while_the_other_dies_in_growth(part, mesh):
    def die_in_growth():
        growing.grow_until_it_fits = lambda *arrays, **keywords: os._exit(1)

    fit_beside_a_dead_process(part, mesh, die_in_growth)


def fit_additive_while_the_other_dies(part, mesh):
    def die_in_boosting():
        fit.boost_terms = lambda *arrays, **keywords: os._exit(1)

    fit_beside_a_dead_process(part, mesh, die_in_boosting, jaxtree.ExplainableBoostingClassifier())


def fit_beside_a_dead_process(part, mesh, die, tree=None):
    X, label, _, _ = tables()
    tree = tree or jaxtree.DecisionTreeClassifier(max_depth=4)
    if jax.process_index():
        die()
    start = time.perf_counter()
    try:
        tree.fit(X[part], label[part], mesh=mesh)
    except jaxtree.errors.DistributedError as error:
        assert not hasattr(tree, "tree_") and not hasattr(tree, "classes_")
        print(f"{time.perf_counter() - start:.1f} s: {error}", flush=True)
    # The service of a process that died takes this one along when it ends.
    os._exit(0)


def fit_other_columns(part, mesh):
    X, label, _, _ = tables()
    try:
        jaxtree.DecisionTreeClassifier().fit(X[part, : 3 + jax.process_index()], label[part], mesh=mesh)
    except jaxtree.errors.InvalidInputError as error:
        print(error)


def fit_without_rows(part, mesh):
    X, label, _, _ = tables()
    part = part if jax.process_index() == 0 else slice(0, 0)
    try:
        jaxtree.DecisionTreeClassifier().fit(X[part], label[part], mesh=mesh)
    except jaxtree.errors.JaxtreeError as error:
        print(f"{type(error).__name__}: {error}")


def main(rank, port, what):
    jax.config.update("jax_num_cpu_devices", 1)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_enable_recoverability", True)
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank, heartbeat_timeout_seconds=10)
    part = slice(0, FIRST_PART) if rank == 0 else slice(FIRST_PART, ROWS)
    fits = {
        "same": fit_both,
        "classical": fit_classical,
        "boosting": fit_boosting,
        "words": fit_words,
        "additive": fit_additive,
        "wrong additive": fit_additive_wrongly,
        "dies in additive": fit_additive_while_the_other_dies,
        "wrong boosting": fit_boosting_wrongly,
        "dies": fit_while_the_other_dies,
        "dies in growth": fit_while_the_other_dies_in_growth,
        "columns": fit_other_columns,
        "no rows": fit_without_rows,
    }
    fits[what](part, Mesh(np.array(jax.devices()), ("rows",)))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
