"""What the numbers of the dropout study say, in plain words.

Every sentence is decided by the numbers, so other data would get other sentences. A *setting* is a pair of p and q;
settings with p = 0 prune nothing and are left out of every comparison.
"""

from typing import Any, NamedTuple

import numpy as np

# Accuracies are sums of products of doubles: closer than this they are the same number.
_TOLERANCE = 1e-9


class _Best(NamedTuple):
    """The first setting at which a quantity is largest."""

    value: float
    setting: str


def verdict(results: dict[str, Any]) -> list[str]:
    """Returns the answers to the study's four questions, a paragraph each.

    They are: does dropout help on average, how much is luck, what does a vote over all draws do, and what is left of
    it when the rows are shuffled.
    """
    return [_on_average(results), _by_luck(results), _by_vote(results), _when_shuffled(results["shuffled"])]


def _on_average(results: dict[str, Any]) -> str:
    unpruned = results["classic"]["test_accuracy"]
    expected = _pruned(results, "expected_test")
    best = _best(results, "expected_test")
    better = int((expected > unpruned + _TOLERANCE).sum())
    difference = abs(best.value - unpruned)
    if better:
        return (
            f"On average dropout helps at {better} of the {expected.size} settings with p > 0: the best, "
            f"{best.setting}, has an expected test accuracy of {best.value:.4f}, {difference:.4f} above the unpruned "
            f"tree's {unpruned:.4f}."
        )
    distance = "as much" if difference <= _TOLERANCE else f"{difference:.4f} less"
    return (
        f"On average dropout does not help: none of the {expected.size} settings with p > 0 has a higher expected test "
        f"accuracy than the unpruned tree's {unpruned:.4f}. The best, {best.setting}, has {best.value:.4f}, {distance}."
    )


def _by_luck(results: dict[str, Any]) -> str:
    reported = results["paper"]["best_reported"]
    highest, reaching = _best(results, "max_test"), _best(results, "share_reaching_096")
    if reaching.value == 0:
        luck = f"No draw reaches the {reported:.2f} that the paper reports; the best one has {highest.value:.4f}."
    else:
        luck = (
            f"The {reported:.2f} that the paper reports is a lucky draw: the best of all has {highest.value:.4f}, and "
            f"at {reaching.setting}, where luck is most frequent, {_percent(reaching.value)} of the draws reach it. "
            f"Which draw is lucky, only the test rows tell."
        )
    return f"{luck} {_frequent_wins(results)}"


def _frequent_wins(results: dict[str, Any]) -> str:
    """How often a draw beats the unpruned tree, and why that need not help."""
    share = _best(results, "share_above_classic")
    place = int(np.argmax(_pruned(results, "share_above_classic")))
    expected = _pruned(results, "expected_test").flat[place]
    wins = f"At {share.setting}, {_percent(share.value)} of the draws beat the unpruned tree"
    if expected > results["classic"]["test_accuracy"] + _TOLERANCE:
        return f"{wins}, and so does their average."
    if share.value > 0.5:
        return f"{wins}, yet their average does not: the others lose more than these win."
    return f"{wins}, and no other setting wins more often."


def _by_vote(results: dict[str, Any]) -> str:
    unpruned = results["classic"]["test_accuracy"]
    vote = _best(results, "vote_test")
    limited = [row for row in results["table2"] if row["max_depth"] is not None]
    plain = max(limited, key=lambda row: row["accuracy"])
    return (
        f"A majority vote over infinitely many draws has at best {vote.value:.4f}, first at {vote.setting}: "
        f"{_compare(vote.value, unpruned)} the unpruned tree. A plain limit of depth {plain['max_depth']} has "
        f"{plain['accuracy']:.4f}, {_compare(plain['accuracy'], vote.value)} that vote, and leaves nothing to chance."
    )


def _when_shuffled(shuffled: dict[str, Any]) -> str:
    expected = np.mean(shuffled["expected"], axis=2)
    without, with_dropout = expected[:, :1], expected[:, 1:]
    better = int((with_dropout > without + _TOLERANCE).sum())
    ends = " and ".join(
        f"{row[-1]:.4f} at p = {shuffled['p'][-1]:g}, q = {q:g}" for q, row in zip(shuffled["q"], expected, strict=True)
    )
    return (
        f"With the rows shuffled before the split, the unpruned tree has {without[0, 0]:.4f} on average over "
        f"{shuffled['num_shuffles']} shuffles, and dropout raises that at {better or 'none'} of the "
        f"{with_dropout.size} settings with p > 0: the mean expected accuracy is {ends}."
    )


def _pruned(results: dict[str, Any], name: str) -> np.ndarray:
    """The rows of a table over p and q that have p > 0."""
    dropout = results["dropout"]
    return np.array(dropout[name])[np.array(dropout["p"]) > 0]


def _best(results: dict[str, Any], name: str) -> _Best:
    table = _pruned(results, name)
    row, column = np.argwhere(table >= table.max() - _TOLERANCE)[0]
    p = [p for p in results["dropout"]["p"] if p > 0][row]
    q = results["dropout"]["q"][column]
    return _Best(float(table[row, column]), f"p = {p:g} and q = {q:g}")


def _compare(value: float, other: float) -> str:
    if abs(value - other) <= _TOLERANCE:
        return "as much as"
    return f"{abs(value - other):.4f} {'more' if value > other else 'less'} than"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
