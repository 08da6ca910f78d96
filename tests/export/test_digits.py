"""Numbers in texts mean what the model means: rows routed by a printed tree alone reach the model's leaves."""

import re

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.explain.rows import explain_row
from jaxtree.export.conditions import child_nodes
from tests.marks import in_turn

ROWS = 60
CHANCE = np.random.default_rng(7)


def neighbours(start, kind=np.float64):
    """Numbers that follow one another as floats do."""
    values = [kind(start)]
    while len(values) < ROWS:
        values.append(np.nextafter(values[-1], kind(np.inf)))
    return np.array(values)


def dates_as(unit, step):
    return np.datetime64("2019-12-30", unit) + step * np.arange(ROWS).astype(f"timedelta64[{unit}]")


COLUMNS = {
    "tiny": CHANCE.normal(size=ROWS) * 1e-12,
    "ordinary": CHANCE.normal(size=ROWS),
    "beside a million": 1e6 + CHANCE.normal(size=ROWS) * 1e-4,
    "huge": CHANCE.normal(size=ROWS) * 1e18,
    "vast": CHANCE.normal(size=ROWS) * 1e200,
    "days": pd.to_datetime("2017-12-15") + pd.to_timedelta(np.arange(ROWS), "D"),
    "seconds": 1.7e9 + np.arange(ROWS),
    "nanoseconds": 1.7e18 + 512.0 * np.arange(ROWS),
    "integers": 2**53 - np.arange(ROWS),
    "neighbours": neighbours(0.1),
    "neighbours of a day": neighbours(20180101.0),
    "denormal": neighbours(0.0),
    "negative neighbours": -neighbours(123456.7),
    "float32 neighbours": neighbours(0.3, np.float32),
    "dates": dates_as("D", 3),
    "instants": dates_as("ns", 1),
    "microseconds": dates_as("us", 977),
    "far instants": np.append(dates_as("ns", 64 * 10**3)[1:], np.datetime64("1999-01-01", "ns")),
    "milliseconds": pd.DatetimeIndex(dates_as("ms", 86_399_999)).tz_localize("Europe/Berlin"),
    "durations": (np.arange(ROWS) * 4807 * 10**6).astype("timedelta64[us]"),
    "short durations": (np.arange(ROWS) - 30).astype("timedelta64[ns]"),
    "long durations": (10**15 + np.arange(ROWS)).astype("timedelta64[ns]"),
}
COLUMNS["days"] = COLUMNS["days"].strftime("%Y%m%d").astype(int)
ESTIMATORS = {
    "exact": jaxtree.DecisionTreeClassifier(),
    "binned": jaxtree.DecisionTreeClassifier(max_bins=7),
    "C4.5": jaxtree.C45Classifier(min_samples_leaf=1, pruning=None),
    "numbers": jaxtree.DecisionTreeRegressor(),
}


def table_of(name):
    shuffled = CHANCE.permutation(ROWS)
    return pd.DataFrame({"x": pd.Series(COLUMNS[name]).iloc[shuffled].to_numpy(copy=True), "z": np.arange(ROWS) % 5})


def holds(words, row):
    """Whether a row is as the words of one condition say; a number or time is read as Python or pandas read it."""
    name, relation, said = re.fullmatch(r"(\w+) (<=|>|=|!=|in|not in) (.*)", words).groups()
    value = row[name]
    if relation in ("in", "not in", "=", "!="):
        return (str(value) in said.strip("{}").split(", ")) == (relation in ("in", "="))
    if isinstance(value, pd.Timestamp):
        limit = pd.Timestamp(said.removesuffix(" UTC"), tz="UTC" if said.endswith(" UTC") else None)
    else:
        limit = pd.Timedelta(said) if isinstance(value, pd.Timedelta) else float(said)
    value = float(value) if isinstance(limit, float) else value  # NumPy would round the limit to float32
    return value <= limit if relation == "<=" else value > limit


def lines_in_order(tree):
    """The nodes of the lines of a printed tree."""
    order, waiting = [], [0]
    while waiting:
        order.append(node := waiting.pop())
        waiting += child_nodes(tree, node)[::-1]
    return order


def walked(text, row):
    """The number of the line where a row ends."""
    end, deepest = 0, 0
    for number, line in enumerate(text.splitlines()[1:], 1):
        indent, words = re.match(r"((?:\|   )*)\|-- (.*?): ", line).groups()
        if len(indent) // 4 < deepest:  # another branch begins
            break
        if len(indent) // 4 == deepest and holds(words, row):
            end, deepest = number, deepest + 1
    return end


@pytest.mark.parametrize(("name", "kind"), in_turn(COLUMNS, ("exact", "binned", "C4.5", "numbers")))
def test_rows_that_follow_the_text_reach_the_leaves_of_the_model(name, kind):
    X = table_of(name)
    y = CHANCE.integers(0, 2, ROWS)
    model = ESTIMATORS[kind].fit(X, y)
    text, order = jaxtree.export_text(model), lines_in_order(model.tree_)
    ends = [order[walked(text, row)] for _, row in X.iterrows()]
    np.testing.assert_array_equal(ends, model.apply(X))
    frame, graph = jaxtree.to_dataframe(model), jaxtree.to_graphviz(model)
    for node, line in zip(order[1:], text.splitlines()[1:], strict=True):
        words = re.match(r"(?:\|   )*\|-- (.*?): ", line)[1]
        assert frame["condition"][node] == words and f'label="{words}"' in graph


@pytest.mark.parametrize("name", COLUMNS)
def test_the_advice_in_words_comes_true(name):
    X = table_of(name)[["x"]]
    model = ESTIMATORS["exact"].fit(X, CHANCE.integers(0, 2, ROWS))
    for number in range(0, ROWS, 20):
        told = explain_row(model, X.iloc[[number]])
        assert all(holds(part, X.iloc[number]) for words in told.conditions for part in parts_of(words))
        said = str(told).rpartition("if x were ")[2]
        changed = X.iloc[[number]].copy()
        changed["x"] = changed["x"].dtype.type(float(said)) if X["x"].dtype.kind in "fi" else as_time(said, X["x"])
        assert model.predict(changed)[0] == told.contrast.prediction


def parts_of(words):
    """`1 < x <= 2` as two conditions."""
    low, _, rest = words.partition(" < ")
    return [f"x > {low}", rest] if rest else [words]


def as_time(said, like):
    if like.dtype.kind == "m":
        return pd.Series([pd.Timedelta(said)]).to_numpy()
    stamp = pd.Timestamp(said.removesuffix(" UTC"), tz="UTC" if said.endswith(" UTC") else None)
    return pd.Series([stamp]).array


def test_categories_that_are_numbers_keep_their_digits():
    shops = np.array([1000001.0, 1000002.0, 0.1 + 0.2, 0.3] * 15)
    X = pd.DataFrame({"shop": pd.Series(shops).astype("category")})
    names = jaxtree.ID3Classifier(encoding="onehot").fit(X, shops > 1).schema_.indicator_names
    assert names == ("shop=0.3", "shop=0.30000000000000004", "shop=1000001", "shop=1000002")
    three = jaxtree.DecisionTreeClassifier(categorical_splits="multiway").fit(X, shops.astype(str))
    words = ["0.3", "0.30000000000000004", "1000001", "1000002"]
    assert [line.split(" = ")[1].split(":")[0] for line in jaxtree.export_text(three).splitlines()[1:]] == words
    assert str(explain_row(three, X.iloc[[2]])).startswith(
        "0.30000000000000004 (100%)\nbecause shop = 0.30000000000000004"
    )


@pytest.mark.parametrize(("unit", "origin"), [(1.0, 0.0), (1e-12, 0.0), (1.0, 1.7e9), (1e-3, 20180101.0), (1e18, 0.0)])
def test_leaves_can_be_told_apart(unit, origin):
    x = np.arange(ROWS, dtype=float)[:, None]
    y = origin + unit * np.array([0.125, 0.25, 0.5] * 20)
    model = jaxtree.DecisionTreeRegressor().fit(x % 3, y)
    said = [line.split(": ")[1].split(" ")[0] for line in jaxtree.export_text(model).splitlines()]
    order = lines_in_order(model.tree_)
    values = model.tree_.value[order, 0, 0]
    assert len(set(said)) == len(set(values.tolist())) == 5
    np.testing.assert_allclose(np.array(said, float), values, rtol=5e-6, atol=2e-4 * np.ptp(values))
    assert len(set(re.findall(r'label="(?:x0\?\\n)?([^"\\]+)\\n', jaxtree.to_graphviz(model)))) == 5
    assert str(explain_row(model, x[:1] % 3)).splitlines()[0] in said


def test_small_weights_are_no_zeros():
    X = np.arange(ROWS)[:, None]
    model = jaxtree.DecisionTreeClassifier(max_depth=1).fit(X, X[:, 0] > 40, sample_weight=np.full(ROWS, 1e-6))
    assert jaxtree.export_text(model).splitlines()[0] == "root: False (False 4.1e-05, True 1.9e-05)"


def test_the_planes_of_far_columns_keep_their_digits():
    """A limit in six digits would send every row of seconds since 1970 the same way."""
    X = 1.7e9 + np.arange(ROWS)[:, None]
    model = jaxtree.SoftTreeClassifier(depth=1, max_epochs=3, random_state=0).fit(X, X[:, 0] > 1.7e9 + 20).harden()
    first = jaxtree.export_text(model).splitlines()[1]
    sign, size, limit = re.fullmatch(r"\|-- (-?) ?(\S+) x0 <= (\S+): .*", first).groups()
    below = float(f"{sign}{size}") * X[:, 0] <= float(limit)
    assert 0 < below.sum() < ROWS
    np.testing.assert_array_equal(below, model.apply(X) == 1)


def test_whole_numbers_are_whole_and_others_short():
    X = pd.DataFrame({"day": [20180101, 20180102, 20180103, 20180104], "part": [0.1, 0.2, 0.3, 0.4]})
    model = jaxtree.DecisionTreeClassifier().fit(X[["day"]], [0, 0, 1, 1])
    assert "day <= 20180102: 0" in jaxtree.export_text(model)
    assert "part <= 0.25: 0" in jaxtree.export_text(jaxtree.DecisionTreeClassifier().fit(X[["part"]], [0, 0, 1, 1]))
    assert str(explain_row(model, X[["day"]].iloc[[0]])).endswith("would be 1 if day were 20180103")
