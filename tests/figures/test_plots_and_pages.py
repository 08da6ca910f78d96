"""Pages and plots draw the same: dependences and survival have one computation, with weights and missing values."""

import numpy as np
import pytest

import jaxtree
from jaxtree.page.explained import dependence_cards
from jaxtree.page.model import page_model, read_table
from jaxtree.page.quality import survival_cards
from jaxtree.page.trees import page_data, rows_of_tree, shown_tree
from jaxtree.plot import plot_dependence, plot_survival
from tests.examples import example, mixed_numbers, mixed_table
from tests.marks import rest_is_slow

TABLE = mixed_table()
WEIGHT = np.arange(len(TABLE)) % 4.0
"""A quarter of the rows have none."""


def classes_of(table):
    return np.where(mixed_numbers(table) > np.median(mixed_numbers(table)), "high", "low")


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("name", rest_is_slow(["boosted_regression", "regression", "forest_regression"]))
def test_dependences_of_numbers_are_alike(name, weight):
    model = example(name)
    extras = {} if weight is None else {"sample_weight": weight}
    answers = page_model(model)
    table = read_table(answers, "training", TABLE, mixed_numbers(TABLE), extras)
    for place, column in enumerate(TABLE.columns):
        (card,) = dependence_cards(answers, table, [place])
        (chart,) = card.charts.values()
        ax = plot_dependence(model, TABLE, column, sample_weight=weight)
        if model.schema_.columns[place].kind == "numeric":
            x, y = ax.lines[0].get_data()
            np.testing.assert_allclose(chart["series"][0]["x"], x, rtol=1e-5)
            np.testing.assert_allclose(chart["series"][0]["y"], y, rtol=1e-5)
            continue
        drawn = dict(zip([tick.get_text() for tick in ax.get_yticklabels()], ax.lines[0].get_xdata(), strict=True))
        paged = {(item["name"], round(float(item["words"][:-1]))): item["dots"][0][0] for item in chart["items"]}
        assert len(drawn) == len(paged)
        for (word, share), value in paged.items():
            own = [key for key in drawn if key.startswith(f"{word}\N{NO-BREAK SPACE}(")]
            assert len(own) == 1 and abs(int(own[0].split("(")[1][:-2]) - share) <= 1
            assert drawn[own[0]] == pytest.approx(value, rel=1e-4)


def test_a_missing_word_is_what_the_encoder_makes_of_it():
    """A one-hot tree that has seen no missing word sends one where no category is."""
    model = jaxtree.ID3Classifier(encoding="onehot").fit([["a", "x"], ["b", "x"], ["c", "y"], ["a", "y"]], [0, 1, 1, 0])
    table = [["a", "x"], [None, "x"]]
    answers = page_model(model)
    (card,) = dependence_cards(answers, read_table(answers, "training", table, [0, 1], {}), [0])
    (chart,) = card.charts.values()
    found = {item["name"]: item["dots"][0][0] for item in chart["items"]}
    missing = model.predict_proba([[None, "x"], [None, "x"]])[:, 1].mean()
    assert found["missing"] == pytest.approx(missing)
    ax = plot_dependence(model, table, 0)
    drawn = dict(zip([tick.get_text()[:7] for tick in ax.get_yticklabels()], ax.lines[0].get_xdata(), strict=True))
    assert drawn["missing"] == pytest.approx(missing)


@pytest.mark.parametrize("weight", [None, np.arange(90) % 3.0], ids=["alike", "weighted"])
def test_survival_curves_are_alike(weight):
    rng = np.random.default_rng(0)
    X, event = rng.normal(size=(90, 2)), rng.random(90) < 0.7
    time = rng.exponential(np.exp(-X[:, 0]))
    model = jaxtree.GradientBoostingRegressor(5, max_depth=2, min_samples_leaf=5, loss="cox").fit(X, time, event=event)
    answers = page_model(model)
    extras = {"event": event} if weight is None else {"event": event, "sample_weight": weight}
    cards = survival_cards(answers, [read_table(answers, "training", X, time, extras)])
    chart = next(iter(cards[0].charts.values()))
    ax = plot_survival(model, X, time, event, sample_weight=weight, num_groups=4)
    steps = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
    dashed = [line for line in ax.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    assert 3 <= len(steps) == len(dashed) == len(chart["series"]) / 2
    for number, line in enumerate(line for pair in zip(steps, dashed, strict=True) for line in pair):
        np.testing.assert_allclose(chart["series"][number]["x"], line.get_xdata(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(chart["series"][number]["y"], line.get_ydata(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make", [jaxtree.DecisionTreeClassifier, jaxtree.RandomForestClassifier], ids=["tree", "forest"]
)
def test_rows_without_weight_are_not_in_the_tree_of_a_page(make):
    y, weight = classes_of(TABLE), (WEIGHT > 0).astype(float)
    model = make(max_depth=2, random_state=0).fit(TABLE, y, weight)
    there = weight > 0

    def told(*rows, **extras):
        answers, subject = page_model(model), shown_tree(model, 0)
        return page_data(subject, [rows_of_tree(subject, read_table(answers, "training", *rows, extras))])

    found, alone = told(TABLE, y, sample_weight=weight), told(TABLE[there], y[there])
    assert found["sets"][0]["shown"].pop("number") == np.flatnonzero(there).tolist()
    assert alone["sets"][0]["shown"].pop("number") is None and found == alone
    assert found["sets"][0]["size"] == there.sum()
    page = jaxtree.to_html(model, TABLE, y, sample_weight=weight)
    assert f'"size":{there.sum()},' in page and f'"size":{len(TABLE)},' not in page


def test_rows_without_targets_have_weights_and_offsets_too():
    model = jaxtree.GradientBoostingRegressor(3).fit(TABLE, mixed_numbers(TABLE))
    answers = page_model(model)
    extras = {"sample_weight": WEIGHT, "offset": np.ones(len(TABLE))}
    table = read_table(answers, "training", TABLE, None, extras)
    there = np.flatnonzero(WEIGHT)
    assert table.number.tolist() == there.tolist() and table.target is None
    np.testing.assert_allclose(table.predicted[:, 0], model.predict(TABLE, offset=np.ones(len(TABLE)))[there])
