"""Searches over settings of boosted trees: all settings of a fold in one program, beside a loop over LightGBM.

    python -m benchmarks.search_boosting                             # 10,000 x 20, 200 settings x 5 folds
    python -m benchmarks.search_boosting --rows 1000 --folds 8
    python -m benchmarks.search_boosting --rows 1000 --settings 10 --folds 3 --peer-settings 5
    python -m benchmarks.search_boosting --memory                    # the peak of 1,000 models x 10,000 rows
    python -m benchmarks.search_boosting --factor 3 --peer-settings 0
    python -m benchmarks.search_boosting --peer-settings 0 --equal 100      # 100 members drawn, each fitted alone, too
    python -m benchmarks.search_boosting --peer-settings 0 --optuna 200     # LightGBM by Optuna, 200 trials beside

Both have the same settings, folds and rounds. Of a part of the peer's settings its seconds are scaled to all. Seconds
are those of the clock, and of the processor beside, which other work on the machine changes less. The first search of
the process compiles; the second is warm.
"""

import argparse
import resource
import time

import jax
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import ParameterSampler, StratifiedKFold

from jaxtree import BoostSearchCV, GradientBoostingClassifier


def settings_of(number, most_rounds):
    """Settings of LightGBM's space by the names of jaxtree."""
    from scipy.stats import loguniform, randint, uniform

    space = {
        "learning_rate": loguniform(0.03, 0.3), "max_leaf_nodes": randint(7, 64), "min_samples_leaf": randint(5, 60),
        "subsample": uniform(0.5, 0.5), "colsample_bytree": uniform(0.5, 0.5), "reg_lambda": loguniform(1e-3, 10),
        "reg_alpha": loguniform(1e-3, 10), "n_estimators": randint(most_rounds // 2, most_rounds + 1),
    }  # fmt: skip
    drawn = ParameterSampler(space, number, random_state=0)
    fixed = {"max_depth": [8], "min_child_weight": [1e-3], "random_state": [0]}
    return [{name: [value] for name, value in own.items()} | fixed for own in drawn]


def options_of_lightgbm(setting):
    """The setting by LightGBM's names."""
    own = {name: values[0] for name, values in setting.items()}
    return {
        "learning_rate": own["learning_rate"], "num_leaves": own["max_leaf_nodes"], "max_depth": own["max_depth"],
        "min_child_samples": own["min_samples_leaf"], "min_child_weight": own["min_child_weight"],
        "subsample": own["subsample"], "subsample_freq": 1, "colsample_bytree": own["colsample_bytree"],
        "reg_lambda": own["reg_lambda"], "reg_alpha": own["reg_alpha"], "n_estimators": own["n_estimators"],
        "verbose": -1,
    }  # fmt: skip


def by_lightgbm(setting, X, y, test):
    import lightgbm

    return lightgbm.LGBMClassifier(**options_of_lightgbm(setting)).fit(X, y).predict_proba(test)


def by_optuna(trials, most_rounds, X, y, splits):
    """Returns the mean losses of the folds of LightGBM in all trials of Optuna, in the space of `settings_of`."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def loss(trial):
        own = {
            "learning_rate": trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
            "max_leaf_nodes": trial.suggest_int("max_leaf_nodes", 7, 63),
            "min_samples_leaf": trial.suggest_int("min_samples_leaf", 5, 59),
            "subsample": trial.suggest_float("subsample", 0.5, 1),
            "colsample_bytree": trial.suggest_float("colsample_bytree", 0.5, 1),
            "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 10, log=True),
            "reg_alpha": trial.suggest_float("reg_alpha", 1e-3, 10, log=True),
            "n_estimators": trial.suggest_int("n_estimators", most_rounds // 2, most_rounds),
            "max_depth": 8,
            "min_child_weight": 1e-3,
        }
        setting = {name: [value] for name, value in own.items()}
        return np.mean([log_loss(y[test], by_lightgbm(setting, X[train], y[train], X[test])) for train, test in splits])

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(loss, trials)
    return [trial.value for trial in study.trials]


def timed(call):
    began, processor = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - began, time.process_time() - processor


def peak():
    """The most memory that the process has had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def print_memory(X, y, settings, folds):
    """One search, with a score of every model, and its peak beside that of the process before it."""
    search = BoostSearchCV(GradientBoostingClassifier(), settings, cv=folds, scoring="neg_log_loss", refit=False)
    before = peak()
    _, seconds, processor = timed(lambda: search.fit(X, y))
    print(
        f"{len(settings) * folds.n_splits:,} models x {len(y):,} rows: {peak():.2f} GiB at the peak (before the search "
        f"{before:.2f}), at most 4; {seconds:.0f} s, {processor:.0f} s of processor"
    )


def count_equal(search, number, X, y, splits):
    """How many of some members, drawn at random, have the losses of their lone fits after every round, bit for bit."""
    rng = np.random.default_rng(0)
    settings, equal = search.cv_results_["params"], 0
    drawn = rng.choice(len(settings) * len(splits), number, replace=False)
    for setting, fold in zip(*np.divmod(drawn, len(splits)), strict=True):
        train, test = splits[fold]
        lone = GradientBoostingClassifier(**settings[setting])
        lone.fit(X[train], y[train], eval_set={"test": (X[test], y[test])})
        (losses,) = lone.evals_result_["test"].values()
        equal += np.array_equal(search.learning_curves_[setting][fold], losses)
    return equal


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--settings", type=int, default=200)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--peer-settings", type=int, help="settings that the peer fits; all if not given, none if 0")
    parser.add_argument("--factor", type=float, help="successive halving by this factor")
    parser.add_argument("--optuna", type=int, default=0, metavar="TRIALS", help="trials of Optuna with LightGBM")
    parser.add_argument("--equal", type=int, default=0, metavar="NUMBER", help="members that are also fitted alone")
    parser.add_argument("--memory", action="store_true", help="the peak memory of one search alone")
    options = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    X, y = make_classification(options.rows, 20, n_informative=10, flip_y=0.1, random_state=0)
    settings, folds = settings_of(options.settings, options.rounds), StratifiedKFold(options.folds)
    if options.memory:
        print_memory(X, y, settings, folds)
        return
    search = BoostSearchCV(
        GradientBoostingClassifier(), settings, cv=folds, scoring="neg_log_loss", refit=False, factor=options.factor
    )
    seconds = processor = 0.0
    for state in ("cold", "warm"):
        _, seconds, processor = timed(lambda: search.fit(X, y))
        print(f"jaxtree, {state}: {seconds:.1f} s, {processor:.1f} s of processor, {peak():.2f} GiB", flush=True)
    scores = search.cv_results_["mean_test_score"]
    print(f"mean loss of all settings {-scores.mean():.5f}, of the best {-scores.max():.5f}")
    if options.equal:
        equal = count_equal(search, options.equal, X, y, list(folds.split(X, y)))
        print(f"{equal} of {options.equal} members drawn at random equal their lone fits bit for bit", flush=True)
    number = options.settings if options.peer_settings is None else options.peer_settings
    if number:
        splits = list(folds.split(X, y))
        loss_on = lambda own, train, test: log_loss(y[test], by_lightgbm(own, X[train], y[train], X[test]))  # noqa: E731
        run = lambda: [[loss_on(own, *split) for split in splits] for own in settings[:number]]  # noqa: E731
        losses, peer, peer_processor = timed(run)
        scale = options.settings / number
        mean, own = np.mean(losses), -scores[:number].mean()
        print(f"LightGBM: {peer * scale:.1f} s, {peer_processor * scale:.1f} s of processor")
        print(f"mean loss of {number} settings {mean:.5f}, of jaxtree {own:.5f}")
        print(f"ratio {seconds / (peer * scale):.3f}, of processor {processor / (peer_processor * scale):.3f}")
    if options.optuna:
        splits = list(folds.split(X, y))
        run = lambda: by_optuna(options.optuna, options.rounds, X, y, splits)  # noqa: E731
        losses, peer, peer_processor = timed(run)
        print(f"Optuna, {options.optuna} trials of LightGBM: {peer:.1f} s, {peer_processor:.1f} s of processor")
        print(f"mean loss of all trials {np.mean(losses):.5f}, of the best {np.min(losses):.5f}")


if __name__ == "__main__":
    main()
