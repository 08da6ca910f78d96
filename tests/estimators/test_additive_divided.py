"""Additive models on several devices, and of rows that several processes have parts of."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from jaxtree.additive import fit
from jaxtree.additive.coded_rows import CodedRows
from jaxtree.dataset import exchange as module
from jaxtree.dataset.exchange import SharedExchange
from jaxtree.devices import default_device
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.additive.divided_rows import DividedRows
from tests.additive import problems
from tests.additive.engines import both
from tests.additive.test_fitting import FEW, same_terms, table

X, NUMBERS, CLASSES = table()
ENDS = [0, 30, 30, 100]
"""Where the parts of three processes end, of which one has no rows."""


class Threads(SharedExchange):
    """Threads that exchange arrays as processes do."""

    def __init__(self, number):
        self.number, self.barrier, self.own = number, threading.Barrier(number, timeout=60), threading.local()
        self.given = [None] * number

    def gather(self, values):
        self.given[self.own.rank] = np.asarray(values)
        self.barrier.wait()
        given = list(self.given)
        self.barrier.wait()
        return given

    def run(self, work):
        """The results of a function of a rank, for every rank."""

        def of_rank(rank):
            self.own.rank = rank
            return work(rank)

        with ThreadPoolExecutor(self.number) as pool:
            return list(pool.map(of_rank, range(self.number)))


def mesh_of(number):
    return Mesh(np.array(jax.devices()[:number]), ("bags",))


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize(
    ("kind", "y"), [(ExplainableBoostingClassifier, CLASSES), (ExplainableBoostingRegressor, NUMBERS)]
)
def test_bags_on_several_devices_make_the_model_of_one(kind, y, number, monkeypatch):
    original, devices = fit.boost_terms, set()

    def noted(*arguments, **options):
        devices.add(default_device())
        return original(*arguments, **options)

    monkeypatch.setattr(fit, "boost_terms", noted)
    options = {**FEW, "outer_bags": 5}
    divided = kind(**options).fit(X, y, mesh=mesh_of(number))
    assert len(devices) == number
    assert same_terms(divided, kind(**options).fit(X, y))


def test_a_mesh_must_have_devices_of_one_axis():
    model = ExplainableBoostingRegressor(**FEW)
    with pytest.raises(InvalidTypeError, match=r"mesh must be a jax.sharding.Mesh or None, got 'cpu'"):
        model.fit(X, NUMBERS, mesh="cpu")
    with pytest.raises(InvalidInputError, match="mesh must have one axis"):
        model.fit(X, NUMBERS, mesh=Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b")))


@pytest.mark.parametrize("taken", [None, np.arange(5, 95, 3), np.arange(40)], ids=["all", "some", "of two parts"])
def test_sums_over_the_parts_of_processes_are_those_of_all_rows(taken, monkeypatch):
    layout, codes, weight, residual = problems.random_problem(3, 100, 6)
    exchange = Threads(3)
    monkeypatch.setattr(module, "VALUES_AT_A_TIME", 50)

    def results(rows):
        at = np.arange(100) if taken is None else taken
        rows = rows if taken is None else rows.take(taken)
        values = np.stack([residual[at], weight[at].astype(np.int64)])
        sums = rows.bin_sums(layout, values)
        gram = rows.gram_sums(layout, weight[at])
        return rows.num_rows, rows.whole(), sums, gram.matrix, gram.diagonal, rows.row_scores(layout, sums)

    whole = results(CodedRows(codes, both()))
    parts = [DividedRows(codes[:, first:end], both(), 100, first, exchange) for first, end in pairwise(ENDS)]
    for made in exchange.run(lambda rank: results(parts[rank])):
        for own, expected in zip(made, whole, strict=True):
            np.testing.assert_array_equal(own, expected)


def test_groups_have_one_number_in_all_processes():
    exchange = Threads(2)
    given = [np.array(["b", "c"], object), np.array(["c", "long", "a"])]
    made = exchange.run(lambda rank: exchange.common_groups(given[rank]).tolist())
    assert made == [[1, 2], [2, 3, 0]]


def test_an_interrupt_ends_a_fit_that_other_processes_wait_in(monkeypatch):
    def stop(futures):
        assert [future.result() for future in futures]
        raise KeyboardInterrupt

    monkeypatch.setattr(fit, "as_completed", stop)
    monkeypatch.setattr(CodedRows, "is_divided", True)
    model = ExplainableBoostingRegressor(**FEW)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, NUMBERS)
    assert not hasattr(model, "additive_")
