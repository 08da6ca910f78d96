"""The choice of a device: what comes before it, how it is made, and that the host touches no accelerator."""

import logging
import threading

import jax
import numpy as np
import pytest
from jax.sharding import Mesh
from sklearn.datasets import load_iris

import jaxtree
from jaxtree import set_device
from jaxtree.devices import costs, in_callers_context, placed, platform_of, policy
from jaxtree.devices.costs import Kind
from jaxtree.devices.current import current_platform, default_device
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.placing import shape_of
from jaxtree.forests import forest
from jaxtree.growth.loop import grow
from tests.devices.stand_ins import stand_in

X, Y = load_iris(return_X_y=True)
HOST = jax.devices()[0]
TREE = jaxtree.DecisionTreeClassifier(max_depth=2)
FREE = dict.fromkeys(Kind, costs.WorkRates(0.0, 0.0, 0.0))
"""The costs of an accelerator that takes no time."""


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """Every test begins with what a process knows at first."""
    monkeypatch.setattr(policy, "_MEMORY", policy._Memory())


@pytest.fixture
def places(monkeypatch):
    """The platforms of all growths, which are those of a plan; those of the kernel in NumPy's arrays are the host's."""
    seen = []

    def note(module, name, platform_of_growth):
        function = getattr(module, name)

        def noted(data, *arguments, **options):
            seen.append(platform_of_growth(data, **options))
            return function(data, *arguments, **options)

        monkeypatch.setattr(module, name, noted)

    note(grow, "prepare", lambda data, mesh, **_: platform_of(data.codes, mesh=mesh))
    for module in (grow, forest):
        note(module, "grow_on_host", lambda data: "cpu")
    return seen


def test_a_small_fit_leaves_the_accelerator_alone(places, caplog):
    with stand_in("gpu") as there, caplog.at_level(logging.INFO, "jaxtree"):
        before = {id(array) for array in jax.live_arrays()}
        jaxtree.RandomForestClassifier(3, random_state=0).fit(X, Y).predict_proba(np.tile(X, (8, 1)))
        jaxtree.GradientBoostingClassifier(2, max_depth=2, min_samples_leaf=4, random_state=1).fit(X, Y).predict(X)
        made = [array for array in jax.live_arrays() if id(array) not in before]
        assert not [array for array in made if there in array.devices()]
    assert set(places) <= {"cpu"}
    assert "RandomForestClassifier computes on cpu: expected" in caplog.text and "s to compile on gpu" in caplog.text
    assert caplog.text.count("computes on") == 2, "predictions are not told at this level"


def test_without_a_host_all_is_the_accelerator_s(places, monkeypatch):
    with stand_in("gpu") as there:
        monkeypatch.setattr(policy, "devices_of_kind", lambda platform: [there] if platform == "gpu" else [])
        TREE.fit(X, Y)
    assert places == ["gpu"]


def test_large_work_goes_to_the_accelerator(places, monkeypatch, caplog):
    monkeypatch.setattr(costs, "GPU", FREE)
    with stand_in("gpu"), caplog.at_level(logging.INFO, "jaxtree"):
        TREE.fit(X, Y)
    assert places == ["gpu"] and "DecisionTreeClassifier computes on gpu" in caplog.text


ORDER = {
    "a context": (lambda there: jax.default_device(HOST), {}, "cpu"),
    "a platform by name": (lambda there: jax.default_device("cpu"), {}, "cpu"),
    "set_device": (lambda there: set_device("gpu"), {}, "gpu"),
    "set_device before a context": (lambda there: _both(set_device("gpu"), jax.default_device(HOST)), {}, "gpu"),
    "a device of JAX": (lambda there: set_device(there), {}, "gpu"),
    "an array before set_device": (lambda there: set_device("gpu"), {"X": HOST}, "cpu"),
    "an array there": (lambda there: set_device("cpu"), {"X": None}, "gpu"),
    "a mesh before all": (lambda there: set_device("gpu"), {"mesh": HOST}, "cpu"),
}
"""Reasons to compute somewhere: a context, where a table lies or which device a mesh has (None for the accelerator),
the result."""


def _both(outer, inner):
    """Two contexts as one."""
    from contextlib import ExitStack

    stack = ExitStack()
    stack.enter_context(outer)
    stack.enter_context(inner)
    return stack


@pytest.mark.parametrize("name", ORDER)
def test_what_is_said_comes_before_the_choice(name, places):
    context, given, expected = ORDER[name]
    with stand_in("gpu") as there, context(there):
        table, options = X, {}
        if "X" in given:
            table = jax.device_put(X, given["X"] or there)
        if "mesh" in given:
            options["mesh"] = Mesh(np.array([given["mesh"]]), ("rows",))
        TREE.fit(table, Y, **options)
    assert places == [expected]


def test_a_choice_holds_for_a_block_or_from_now_on():
    with stand_in("gpu"):
        chosen = set_device("gpu")
        assert policy._MEMORY.setting == "gpu"
        with set_device("cpu"):
            assert policy._MEMORY.setting == "cpu"
        assert policy._MEMORY.setting == "gpu"
        with chosen:
            pass
        assert policy._MEMORY.setting == "auto"


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("tpu", "there is no tpu here; JAX finds cpu, gpu"),
        ("cuda", r"device must be one of 'auto', 'cpu', 'gpu', 'tpu', or a device of JAX, got 'cuda'"),
        (3, "got 3"),
        (None, "got None"),
    ],
)
def test_a_device_that_is_none_is_refused(device, said):
    with stand_in("gpu"), pytest.raises(InvalidInputError, match=said):
        set_device(device)
    assert policy._MEMORY.setting == "auto"


def test_a_search_decides_once(monkeypatch, places):
    asked, usual = [], policy.choose
    monkeypatch.setattr(policy, "choose", lambda *given: asked.append(given) or usual(*given))
    with stand_in("gpu"):
        jaxtree.SearchCV(TREE, {"min_samples_leaf": [1, 5]}, cv=3).fit(X, Y)
    assert len(asked) == 1 and set(places) == {"cpu"}
    assert asked[0][0] == TREE.work_of_fit(*X.shape).times(6)


def test_who_fits_again_and_again_pays_for_a_program(monkeypatch):
    monkeypatch.setattr(policy, "num_cores", lambda: 2)
    work = costs.soft(10_000, 28, nodes=255, steps=2520, rows_of_step=740)
    choices = []
    for _ in range(40):
        choices.append(policy.choose(work, "gpu"))
        policy.remember(work, choices[-1])
    platforms = [choice.platform for choice in choices]
    first = platforms.index("gpu")
    assert 1 < first < 39 and platforms == first * ["cpu"] + (40 - first) * ["gpu"]
    lost = sum(choice.host_seconds - choice.device_seconds for choice in choices[:first])
    assert lost <= choices[first].start_seconds + choices[0].host_seconds, "at most twice the best"
    assert choices[-1].start_seconds == 0
    assert "to compile" not in choices[-1].reason


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
def test_more_work_never_goes_back_to_the_host(platform):
    sizes = [10**power for power in range(2, 9)]
    for kind in (
        lambda rows: costs.growth(rows, 30, levels=8),
        lambda rows: costs.growth(rows, 30, levels=12, trees=500, features_of_node=6),
        lambda rows: costs.boosting(rows, 30, levels=6, rounds=1000),
        lambda rows: costs.walk(rows, 30, levels=10, trees=100),
        lambda rows: costs.shapley(rows, 30, numbers=1e4 * rows),
        lambda rows: costs.soft(rows, 30, nodes=256, steps=rows, rows_of_step=256),
    ):
        platforms = [policy.choose(kind(rows), platform).platform for rows in sizes]
        assert platforms == sorted(platforms, key=["cpu", platform].index), "a choice changes once"
        assert platforms[0] == "cpu"


def test_every_core_helps_and_no_kernel_costs():
    work = costs.growth(10**6, 28, levels=8)
    seconds = [costs.seconds(work, costs.HOST, cores=cores)[1] for cores in (1, 2, 8, 64)]
    assert seconds == sorted(seconds, reverse=True)
    assert costs.seconds(work, costs.WITHOUT_KERNEL, cores=1) > costs.seconds(work, costs.HOST, cores=1)


def test_threads_compute_where_their_caller_does():
    found = {}

    def note(name):
        found[name] = default_device(), policy._IS_PLACED.get()

    with stand_in("gpu"), set_device("cpu"), placed("test", lambda: None):
        assert current_platform() == "cpu"
        for name, work in {"carried": in_callers_context(note), "plain": note}.items():
            thread = threading.Thread(target=work, args=(name,))
            thread.start()
            thread.join()
    assert found["carried"] == (HOST, True) and found["plain"] == (jax.devices()[1], False)


def test_the_size_of_a_table_is_known_before_it_is_read(tmp_path):
    import pandas as pd
    import polars as pl
    import scipy.sparse

    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_parquet(tmp_path / "iris.parquet")
    tables = [X, frame, pl.from_pandas(frame), scipy.sparse.csr_matrix(X), X.tolist(), tmp_path / "iris.parquet"]
    assert [shape_of(table) for table in tables] == 6 * [(150, 4)]
    assert [shape_of(none) for none in (None, 3, [], [1.0], np.zeros(3), iter(X))] == 6 * [None]


def test_what_cannot_be_said_leaves_jax_its_device(places):
    parts = [{name: X[:, column] for column, name in enumerate("abcd")}]
    with stand_in("gpu"), placed("test", lambda: None):
        assert current_platform() == "gpu"
    assert shape_of(parts) != (150, 4)


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_the_command_line_computes_where_it_is_told(platform, places, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from jaxtree.cli.app import app

    table = tmp_path / "iris.csv"
    table.write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in zip(X[:, 0], X[:, 2], Y, strict=True)))
    with stand_in("gpu"):
        command = ["fit", str(table), "-t", "y", "-o", str(tmp_path / "m"), "--max-depth", "2", "--device", platform]
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert set(places) == {platform}
