r"""Rank-weighted average effects: what is gained by treating those first whom a rule puts first.

$TOC(q)$, the targeting operator characteristic, is the mean effect on the share $q$ of rows of the highest priority
less that on all. AUTOC is its mean over $q$, QINI that of $q \, TOC(q)$: above 0 if the rule puts first who gains more.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree import notebook
from jaxtree.dataset.sample import generator_of
from jaxtree.effects.rows import IndependentRows, half_width, ratio, read_columns, read_units, two_sided
from jaxtree.errors import InvalidInputError

Target = Literal["autoc", "qini"]
SHARES = tuple(np.arange(1, 11) / 10)
"""The shares at which curves are shown."""


@dataclass(frozen=True, repr=False)
class RankAverageEffect:
    """The gain of rules of priority; of two rules the third entry is their difference.

    Attributes:
        target: "autoc" or "qini".
        rules: The names of the rules.
        estimate: The rank-weighted average effect of every rule.
        standard_error: Its standard error, from half-samples.
        share: The shares of rows of the highest priority, ascending.
        curve: The effect on these less that on all, TOC.
        curve_error: Its standard error.
    """

    target: str
    rules: tuple[str, ...]
    estimate: Float[np.ndarray, " rule"]
    standard_error: Float[np.ndarray, " rule"]
    share: Float[np.ndarray, " share"]
    curve: Float[np.ndarray, "rule share"]
    curve_error: Float[np.ndarray, "rule share"]

    def interval(self, coverage: float = 0.95) -> Float[np.ndarray, "rule 2"]:
        """Returns the lower and the upper end of every rule's interval, by the normal distribution.

        Args:
            coverage: The chance of an interval to hold the number, above 0 and below 1.

        Raises:
            InvalidInputError: The coverage is not allowed.
        """
        width = half_width(1.0, coverage, np.inf) * self.standard_error
        return np.stack([self.estimate - width, self.estimate + width], axis=1)

    @property
    def p_value(self) -> Float[np.ndarray, " rule"]:
        """The chance of an estimate as far from 0 if the rule says nothing of effects."""
        return two_sided(ratio(self.estimate, self.standard_error), np.inf)

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the words."""
        return notebook.lines(repr(self))

    def __repr__(self) -> str:
        """Returns a line a rule."""
        ends = self.interval()
        width = max(map(len, self.rules))
        return "\n".join(
            f"{self.target} of {rule.ljust(width)}: {own:.4g}, standard error {error:.3g}, 95% interval {low:.4g} to "
            f"{high:.4g}, p {p:.2g}"
            for rule, own, error, (low, high), p in zip(
                self.rules, self.estimate, self.standard_error, ends, self.p_value, strict=True
            )
        )


def rank_average_effect(
    scores: Any,
    priorities: Any,
    *,
    target: Target = "autoc",
    shares: Any = SHARES,
    num_samples: int = 200,
    sample_weight: Any = None,
    clusters: Any = None,
    random_state: Any = 0,
) -> RankAverageEffect:
    """Returns the rank-weighted average effect of one rule of priority, or of two and their difference.

    Rows of equal priority share the mean of their scores. Standard errors are those of half-samples of rows, or of
    clusters; two rules are compared on the same ones (Yadlowsky, Fleming, Shah, Brunskill and Wager, *Evaluating
    treatment prioritization rules via rank-weighted average treatment effects*, JASA 120, 2025). The priorities must
    come from a model that has not seen the rows.

    Args:
        scores: The doubly robust score of every row.
        priorities: The priority of every row, the highest first; [row, 2], or a frame of two columns, has two rules.
        target: "autoc", which looks at those of the highest priority most, or "qini".
        shares: The shares of rows at which the curve is kept, ascending, above 0 and up to 1.
        num_samples: The number of half-samples.
        sample_weight: The weight of every row; 1 if not given.
        clusters: The cluster of every row.
        random_state: The seed of half-samples.

    Raises:
        InvalidInputError: An argument has another length or a value that is missing or not allowed.

    Example:
        >>> effect = np.arange(100.0)
        >>> found = rank_average_effect(effect, effect)
        >>> print(found)
        autoc of priority: 24.75, standard error 1.07, 95% interval 22.66 to 26.84, p 1.2e-118
        >>> found.curve[0, [0, 9]]
        array([45.,  0.])
    """
    if target not in get_args(Target):
        raise InvalidInputError(f"target must be 'autoc' or 'qini', got {target!r}")
    if isinstance(num_samples, bool) or not isinstance(num_samples, int | np.integer) or num_samples < 2:
        raise InvalidInputError(f"num_samples must be a whole number from 2, got {num_samples!r}")
    score = read_columns(scores=scores)["scores"]
    rules, names = _read_priorities(priorities, len(score))
    share = read_shares(shares)
    units = read_units(len(score), sample_weight, clusters)
    ranked = [_Prioritised.of(score[units.is_in], rule[units.is_in], units) for rule in rules]
    found = np.stack([own.estimate(None, target, share) for own in ranked])
    generator = generator_of(random_state)
    halves = (_half(units, generator) for _ in range(num_samples))
    drawn = np.stack([[own.estimate(half, target, share) for own in ranked] for half in halves])
    if len(names) == 2:
        names = (*names, " - ".join(names))
        found = np.vstack([found, found[:1] - found[1:]])
        drawn = np.concatenate([drawn, drawn[:, :1] - drawn[:, 1:]], axis=1)
    error = drawn.std(axis=0, ddof=1)
    return RankAverageEffect(target, names, found[:, 0], error[:, 0], share, found[:, 1:], error[:, 1:])


@dataclass(frozen=True)
class _Prioritised:
    """Rows in the order of their priority, the highest first.

    Attributes:
        row: The rows in this order.
        tie: The number of the distinct priority of each, from 0.
        weight: Their weights.
        score: Their scores.
    """

    row: Int[np.ndarray, " row"]
    tie: Int[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]
    score: Float[np.ndarray, " row"]

    @classmethod
    def of(
        cls, score: Float[np.ndarray, " row"], priority: Float[np.ndarray, " row"], units: IndependentRows
    ) -> "_Prioritised":
        row = np.argsort(-priority, kind="stable")
        tie = np.append(0, np.cumsum(priority[row][1:] != priority[row][:-1]))
        return cls(row, tie, units.weight[row], score[row])

    def estimate(
        self, is_drawn: Bool[np.ndarray, " row"] | None, target: Target, share: Float[np.ndarray, " share"]
    ) -> Float[np.ndarray, " number"]:
        """The rank-weighted average effect of the rows that were drawn, and the curve at the shares."""
        tie, weight, score = self.tie, self.weight, self.score
        if is_drawn is not None:
            own = is_drawn[self.row]
            tie, weight, score = tie[own], weight[own], score[own]
        if (np.diff(tie) == 0).any():
            score = np.bincount(tie, weight * score)[tie] / np.bincount(tie, weight)[tie]
        mass, gain = np.cumsum(weight), np.cumsum(weight * score)
        mean = gain[-1] / mass[-1]
        curve = gain / mass - mean
        factor = weight if target == "autoc" else weight * mass / mass[-1]
        # Between rows the next one counts in part.
        at_share = np.interp(share * mass[-1], np.append(0.0, mass), np.append(0.0, gain)) / (share * mass[-1]) - mean
        return np.append(factor @ curve / mass[-1], at_share)


def _half(units: IndependentRows, generator: Any) -> Bool[np.ndarray, " row"]:
    """Which rows are in a sample of half of the clusters, without replacement."""
    number = units.num_clusters
    is_in = np.zeros(number, bool)
    is_in[generator.permutation(number)[: number // 2]] = True
    return is_in[units.cluster]


def read_shares(shares: Any) -> Float[np.ndarray, " share"]:
    """Reads shares; raises InvalidInputError if they do not ascend above 0 up to 1 at most.

    >>> read_shares([0.5, 1])
    array([0.5, 1. ])
    """
    read = read_columns(shares=shares)["shares"]
    if len(read) == 0 or read[0] <= 0 or read[-1] > 1 or (np.diff(read) <= 0).any():
        raise InvalidInputError(f"shares must ascend, above 0 and up to 1, got {read.tolist()}")
    return read


def _read_priorities(priorities: Any, num_rows: int) -> tuple[list[Float[np.ndarray, " row"]], tuple[str, ...]]:
    """The priorities of one rule or two, and their names."""
    names = getattr(priorities, "columns", None)
    try:
        table = np.asarray(priorities, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"priorities must be numbers, got {type(priorities).__name__}") from None
    if table.ndim == 1:
        table, names = table[:, None], None
    if table.ndim != 2 or len(table) != num_rows or table.shape[1] not in (1, 2):
        raise InvalidInputError(
            f"priorities must be a number for each of {num_rows} rows, or two columns of these, got shape "
            f"{np.shape(priorities)}"
        )
    if np.isnan(table).any():
        row = int(np.argmax(np.isnan(table).any(axis=1)))
        raise InvalidInputError(f"priorities must not be missing, got nan in row {row}")
    if names is None:
        names = ["priority"] if table.shape[1] == 1 else ["priority 1", "priority 2"]
    return list(table.T), tuple(map(str, names))
