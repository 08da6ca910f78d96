"""The comparison of prunings end to end, its statistics, and that its sentences follow from its figures."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from jaxtree import DecisionTreeClassifier
from jaxtree.cli import app
from jaxtree.datasets import load_car_evaluation
from jaxtree_studies import pruning_methods as methods
from jaxtree_studies import pruning_page as page
from jaxtree_studies import prunings as tables
from jaxtree_studies import ranks
from jaxtree_studies.pruning_verdict import verdict
from jaxtree_studies.prunings import StudyPlan, accuracies, run
from tests.studies.made_up import DATA, FAMILIES, NUM_DATA, comparison

pytestmark = pytest.mark.slow

# Demšar (2006), table 5: the critical values of Nemenyi's test for 2 to 10 methods.
NEMENYI = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}
# Demšar (2006), table 6: the ranks of four variants of C4.5 on 14 data sets.
C45_RANKS = np.array(
    [
        [4, 3, 2, 1], [1, 2, 3, 4], [4, 1, 2, 3], [4, 1, 3, 2], [4, 2, 3, 1], [1, 2.5, 4, 2.5], [3, 2, 4, 1],
        [2.5, 2.5, 4, 1], [4, 3, 2, 1], [2.5, 2.5, 2.5, 2.5], [4, 2.5, 1, 2.5], [3, 2, 4, 1], [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)  # fmt: skip
TIES = 3 * (2**3 - 2) + (4**3 - 4)


@pytest.fixture(scope="module")
def results():
    return run(StudyPlan(folds=2, inner=2, quick=True))


# The statistics.


@pytest.mark.parametrize("alpha", NEMENYI)
def test_critical_differences_are_the_published_ones(alpha):
    for k, published in enumerate(NEMENYI[alpha], 2):
        quantile = ranks.critical_difference(k, 10, alpha) / np.sqrt(k * (k + 1) / 60)
        assert quantile == pytest.approx(published, abs=1.1e-3), k


def test_ranks_and_friedman_s_test_of_the_published_example():
    np.testing.assert_allclose(ranks.mean_ranks(-C45_RANKS), [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    # The publication does not correct for ties.
    correction = 1 - TIES / (14 * 4 * (4**2 - 1))
    assert ranks.friedman(-C45_RANKS).statistic * correction == pytest.approx(9.28, abs=5e-3)


def test_comparisons_count_and_test():
    better = ranks.compare(np.arange(1, 9) / 10, np.zeros(8))
    assert better[:3] == (8, 0, 0) and better.mean_difference == pytest.approx(0.45)
    assert better.p_value == pytest.approx(2 / 2**8) and better.is_sure
    mixed = ranks.compare(np.array([0.1, -0.2, 0.0, 0.3]), np.zeros(4))
    assert mixed[:3] == (2, 1, 1) and not mixed.is_sure


def test_cliques_are_the_largest_sets_within_the_difference():
    found = ranks.cliques(np.array([1.0, 2.0, 2.5, 5.0]), 1.5)
    assert [np.flatnonzero(members).tolist() for members in found] == [[0, 1, 2]]
    found = ranks.cliques(np.array([3.0, 1.0, 2.0]), 1.0)
    assert [np.flatnonzero(members).tolist() for members in found] == [[1, 2], [0, 2]]


# The data and the folds.


def test_own_test_rows_are_the_one_outer_fold(real_data):
    found, skipped = tables.study_tables(real_data)
    assert len(found) == 11 and not skipped
    adults = next(table for table in found if table.name == "adult")
    ((train, test),) = tables.outer_splits(adults, 5, 0)
    assert (len(train), len(test)) == (32561, 16281)
    assert tables.num_folds(found, 5) == 7 * 5 + 4


# The methods.


def test_a_setting_applied_is_the_setting_fitted():
    """So that one growth does for all methods."""
    X, y = load_car_evaluation(return_X_y=True, binary=True)
    X, y, X_test, y_test = X[::5], y[::5], X[1::5], y[1::5]
    grown = DecisionTreeClassifier(categorical_splits="one_vs_rest", random_state=3).fit(X, y)
    found = methods.searched_methods(grown, quick=True)
    assert grown.get_n_leaves() > 20
    for setting in (method.settings[len(method.settings) // 2] for method in found):
        if not methods.is_held_out(setting):
            fitted = clone(grown).set_params(**setting).fit(X, y)
            applied = methods.apply_setting(grown, setting)
            assert applied.score(X_test, y_test) == fitted.score(X_test, y_test), setting
            assert applied.get_n_leaves() == fitted.get_n_leaves(), setting


def test_the_last_setting_prunes_nothing_and_the_first_most():
    X, y = load_car_evaluation(return_X_y=True)
    grown = DecisionTreeClassifier(random_state=0).fit(X[::4], y[::4])
    for method in methods.searched_methods(grown, quick=False):
        if len(method.settings) == 1 or methods.is_held_out(method.settings[0]) or "vote" in method.name:
            continue
        leaves = [methods.apply_setting(grown, setting).get_n_leaves() for setting in method.settings]
        assert leaves[0] < leaves[-1], method.name
        if method.name != "pessimistic (C4.5)":
            assert leaves[-1] == grown.get_n_leaves(), method.name
        # A greater m does not always prune more, and of p and q neither comes first.
        if method.family == methods.CLASSICAL and method.name != "minimum error":
            assert leaves == sorted(leaves), method.name


def test_the_expected_accuracy_is_the_mean_of_draws():
    X, y = load_car_evaluation(return_X_y=True, binary=True)
    grown = DecisionTreeClassifier(categorical_splits="one_vs_rest", random_state=0).fit(X[:1296], y[:1296])
    rates = methods.Dropout(0.1, 0.2)
    draws = []
    for seed in range(40):
        grown.random_state = seed
        draws.append(methods.apply_setting(grown, {"pruning": rates}).score(X[1296:], y[1296:]))
    expected = methods.expected_accuracy(grown, rates, X[1296:], y[1296:])
    assert abs(np.mean(draws) - expected) < 4 * np.std(draws) / np.sqrt(len(draws))


# The run.


def test_every_method_is_measured_on_every_fold(results):
    names = [method["name"] for method in results["methods"]]
    assert [method["family"] for method in results["methods"]].count("dropout") == 5 and len(names) == 19
    for table in results["data"]:
        assert len(table["folds"]) == 2
        for fold in table["folds"]:
            assert list(fold["methods"]) == names and fold["train_rows"] + fold["test_rows"] == 1728
        for name in names:
            mean = np.mean([fold["methods"][name]["accuracy"] for fold in table["folds"]])
            assert table["accuracy"][name] == pytest.approx(mean) and 0.4 < mean <= 1
    assert accuracies(results).shape == (2, 19)
    assert set(results["ranks"]["mean"]) == set(names)


def test_no_pruning_is_the_plain_tree(results):
    X, y = load_car_evaluation(return_X_y=True, binary=True)
    tree = DecisionTreeClassifier(categorical_splits="one_vs_rest")
    scores = [tree.fit(X[a], y[a]).score(X[b], y[b]) for a, b in ((slice(864), slice(864, None)),)]
    assert results["data"][0]["folds"][1]["methods"]["no pruning"]["accuracy"] == pytest.approx(scores[0])


def test_a_choice_is_the_best_on_the_inner_folds(results):
    """No pruning is among the settings of most methods, which can so do no worse on the inner folds."""
    for table in results["data"]:
        for fold in table["folds"]:
            own = fold["methods"]
            for name in ("max_depth", "cost complexity", "dropout, one draw", "dropout, vote of all"):
                assert own[name]["inner_accuracy"] >= own["no pruning"]["inner_accuracy"] - 1e-12, name


@pytest.mark.slow
def test_a_run_repeats(results):
    again = run(StudyPlan(folds=2, inner=2, quick=True))
    assert json.dumps({**results, "seconds": {}}) == json.dumps({**again, "seconds": {}})


# The sentences.


def test_no_difference_is_said_to_be_none():
    sentences = verdict(comparison())
    assert sentences[0].startswith(
        "Against no pruning dropout makes no difference that Wilcoxon's test would tell from chance by one draw, a "
        "vote and tuned rates."
    )
    assert "cannot be told apart (Friedman's test, p = 1.000)" in sentences[1]
    assert all(sentence.endswith(".") for sentence in sentences) and len(sentences) == 8


def test_a_sure_gain_of_the_vote_is_said():
    gains = np.linspace(0.01, 0.08, NUM_DATA)
    sentences = verdict(comparison({"dropout, vote of all": gains, "dropout, vote of 25": gains - 0.001}))
    assert "Against no pruning dropout makes no difference" in sentences[0]
    assert "is more accurate by a vote." in sentences[0]
    assert sentences[3].startswith(
        "The vote with the best mean rank is dropout, vote of all: against no pruning it is better on 8 data sets, "
        "equal on 0, worse on 0 (+4.50 points on average, p = 0.008)"
    )
    assert "There dropout is better by a vote. On the cars shuffled" in sentences[6]


def test_a_sure_loss_of_one_draw_is_said():
    loss = -np.linspace(0.01, 0.08, NUM_DATA)
    results = comparison({"dropout, one draw": loss})
    assert "is less accurate by one draw" in verdict(results)[0]
    third = verdict(results)[2]
    assert "is better on 0 data sets, equal on 0, worse on 8 (−4.50 points on average, p = 0.008)" in third
    assert "In 0 of 16 outer folds the choice is p = 0" in third
    assert third.endswith("worse on 8 (−5.50 points on average, p = 0.008).")
    results["data"][0]["folds"][0]["methods"]["dropout, one draw"]["chosen"]["p"] = 0.0
    assert "In 2 of 16 outer folds" in verdict(results)[2]


# The report and the command.


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    chance = np.random.default_rng(0)
    made_up = comparison({name: chance.normal(0, 0.01, NUM_DATA).round(4) for name in list(FAMILIES)[1:]})
    folder = tmp_path_factory.mktemp("report")
    return made_up, page.write_report(made_up, folder)


def test_the_page_has_every_figure_and_sentence(report):
    made_up, paths = report
    text = paths[0].read_text()
    assert [path.name for path in paths] == ["report.html", "report.json", "ranks.png", "gains.png", "costs.png"]
    assert text.count("data:image/png;base64,") == 3
    assert all(name in text for name in (*FAMILIES, *DATA))
    for word in verdict(made_up)[7].replace("'", "’").split():
        assert word in text.replace("\xa0", " ")
    assert "letter (its file letter/letter-recognition.data is absent)." in text
    assert not any(word in text for word in ("http:", "https:", "url(", "<script", "<link"))


@pytest.mark.slow
def test_the_command_end_to_end(tmp_path):
    options = ["study", "prunings", "--quick", "--folds", "2", "--inner", "2", "--seed", "5", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    stated = json.loads((tmp_path / "report.json").read_text())
    assert stated["plan"] == {"folds": 2, "inner": 2, "seed": 5, "quick": True}
    assert (tmp_path / "figures" / "ranks.png").stat().st_size > 10_000
    assert "skipped: nursery, no folder of data was given" in " ".join(done.output.split())
