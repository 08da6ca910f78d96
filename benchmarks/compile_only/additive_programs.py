"""The programs of additive models: sums over pairs of bins, and boosting."""

from typing import Any

import numpy as np

from benchmarks.compile_only.programs import NUM_FEATURES, Program
from jaxtree.devices import current_platform
from jaxtree.kernels.additive import Gram, Members, StepRules, boost_on_grams, boost_on_rows, gram_sums
from jaxtree.kernels.choose import Engines
from jaxtree.kernels.layout import Layout, TermKind
from jaxtree.kernels.padded_terms import sizes_of

FEW_BINS, BINS_OF_PAIRS, NUM_MEMBERS = 32, 16, 8


def layout_of(num_terms: int = NUM_FEATURES) -> Layout:
    """Terms of three kinds, of which each is as often: ordered, subsets and pairs; no value of bins matters."""
    kind = np.arange(num_terms, dtype=np.int32) % len(TermKind)
    is_pair = kind == TermKind.PAIR
    one = np.where(is_pair, BINS_OF_PAIRS, FEW_BINS)
    num_bins = np.stack([one, np.where(is_pair, BINS_OF_PAIRS, 1)], axis=1).astype(np.int32)
    features = np.stack([np.arange(num_terms), np.where(is_pair, 0, -1)], axis=1).astype(np.int32)
    return Layout(kind, features, np.zeros((num_terms, 2, FEW_BINS), np.uint16), num_bins, np.zeros_like(kind))


def _codes(num_rows: int) -> np.ndarray:
    return np.zeros((NUM_FEATURES, num_rows), np.uint8)


def _engines() -> Engines:
    return Engines.of(current_platform())


def sum_pairs(num_rows: int) -> Any:
    """Sums the weights of rows by pairs of bins."""
    return gram_sums(layout_of(), _codes(num_rows), np.full(num_rows, 2, np.int32), engines=_engines())


def boost_bags(num_rows: int) -> Any:
    """Boosts the bags of a model, with greedy steps; rows are not read."""
    layout = layout_of()
    size, shape = sizes_of(layout).places, (NUM_MEMBERS, layout.num_places)
    gram = Gram(np.zeros((size, size), np.int32), np.zeros(layout.num_places, np.int64))
    rules = [StepRules(0.1, greedy_steps=5)] * NUM_MEMBERS
    number = np.zeros(NUM_MEMBERS, np.int32)
    members, rows = Members(np.zeros(shape, np.int64), number, rules), np.zeros(shape, np.int32)[:1]
    return boost_on_grams(layout, [gram], rows, members, num_passes=10, engine=_engines().of_device)


def boost_reading_rows(num_rows: int) -> Any:
    """Boosts a model on its rows, with greedy steps."""
    weight, gradient = np.ones(num_rows, np.int32), np.zeros(num_rows, np.int64)
    codes, rules = _codes(num_rows), StepRules(0.1, greedy_steps=5)
    return boost_on_rows(layout_of(), codes, weight, gradient, rules, num_passes=10, engines=_engines())


ADDITIVE = {
    "additive, pairs of bins": Program("multiply_columns", sum_pairs),
    "additive, boosting": Program("boost_members", boost_bags),
    "additive, boosting on rows": Program("boost_member_on_rows", boost_reading_rows),
}
"""The programs, by what they do."""
