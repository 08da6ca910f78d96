"""Numbers of a comparison in words. A *point* is a hundredth of the test rows."""

from jaxtree_studies.ranks import Comparison


def tally(comparison: Comparison) -> str:
    """Returns on how many data sets a method is better, equal and worse.

    Example:
        >>> tally(Comparison(wins=1, ties=2, losses=0, mean_difference=0.0123, p_value=0.3))
        'better on 1 data set, equal on 2, worse on 0 (+1.23 points on average, p = 0.300)'
    """
    c = comparison
    return (
        f"better on {c.wins} data set{'' if c.wins == 1 else 's'}, equal on {c.ties}, worse on {c.losses} "
        f"({points(c.mean_difference)} points on average, {p_value(c.p_value)})"
    )


def points(difference: float) -> str:
    """Returns a difference of accuracies in points, with its sign."""
    told = f"{100 * difference:+.2f}"
    return "±0.00" if told in ("+0.00", "-0.00") else told.replace("-", "−")


def p_value(probability: float) -> str:
    """Returns the p-value of a test."""
    return "p < 0.001" if probability < 0.001 else f"p = {probability:.3f}"


def listed(words: list[str]) -> str:
    """Returns words as a list in a sentence.

    Example:
        >>> listed(["one", "two", "three"])
        'one, two and three'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def is_are(names: list[str]) -> str:
    """Returns who is, or that none is."""
    if not names:
        return "is none"
    return f"{'is' if len(names) == 1 else 'are'} {listed(names)}"
