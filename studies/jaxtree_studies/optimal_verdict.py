"""The findings of the comparison of optimal trees in plain words; every sentence is decided by the figures."""

from typing import Any

import numpy as np

from jaxtree_studies import ranks
from jaxtree_studies.optimal_trees import BEST, BUDGETS, CART, DROPOUT_DRAW, NEAR, REFINED, accuracies
from jaxtree_studies.ranks import ALPHA, SAME, Comparison
from jaxtree_studies.words import is_are, listed, p_value, points, tally

LEAST_DATA = 6
"""On fewer data sets no outcome of Wilcoxon's two-sided test has a p-value below 0.05."""

Results = dict[str, Any]


def verdict(results: Results) -> list[str]:
    """Returns what the study finds, a paragraph each, the short answer first."""
    searched = (BEST, NEAR, REFINED)
    return [
        _in_short(results, searched),
        *(_within(results, budget) for budget in results["budgets"]),
        *(_of_method(results, method) for method in (*searched, DROPOUT_DRAW)),
        _in_training(results),
        _where(results),
        _in_seconds(results),
        _on_the_cars(results["cars"]),
    ]


def _against_cart(results: Results, method: str, budget: str, figure: str = "accuracy") -> Comparison:
    own, cart = (
        np.array([table[figure][budget][name] for table in results["data"]], np.float64) for name in (method, CART)
    )
    return ranks.compare(own, cart)


def _in_short(results: Results, searched: tuple[str, ...]) -> str:
    pays = [
        f"{method} with {budget}"
        for method in searched
        for budget in BUDGETS
        if (found := _against_cart(results, method, budget)).is_sure and found.mean_difference > 0
    ]
    harms = [
        f"{method} with {budget}"
        for method in searched
        for budget in BUDGETS
        if (found := _against_cart(results, method, budget)).is_sure and found.mean_difference < 0
    ]
    few = (
        f" On {len(results['data'])} data sets alone Wilcoxon's test could not tell anything."
        if len(results["data"]) < LEAST_DATA
        else ""
    )
    told = f"it is more accurate by {listed(pays)}" if pays else "no way to search is more accurate for sure"
    lost = f", and less accurate by {listed(harms)}" if harms else ""
    return (
        f"Does a search for the best tree pay beside {CART}? On test rows {told}{lost}, by Wilcoxon's test at "
        f"{100 * ALPHA:g} % for each comparison alone.{few}"
    )


def _within(results: Results, budget: str) -> str:
    """The ranks within a budget."""
    found = results["ranks"][budget]
    mean, friedman, difference = found["mean"], found["friedman"], found["critical_difference"]
    best = min(mean, key=mean.get)
    worse = [name for name in mean if mean[name] > mean[best] + difference]
    told = "differ" if friedman["p_value"] < ALPHA else "cannot be told apart"
    accuracy = accuracies(results, budget).mean(axis=0)
    each = ", ".join(
        f"{method['name']} {100 * value:.2f}" for method, value in zip(results["methods"], accuracy, strict=True)
    )
    return (
        f"With {budget} the methods {told} (Friedman's test, {p_value(friedman['p_value'])}). The best mean rank has "
        f"{best} ({mean[best]:.2f}); farther from it than the critical difference of {difference:.2f} {is_are(worse)}. "
        f"Mean test accuracy in percent: {each}."
    )


def _of_method(results: Results, method: str) -> str:
    """A method beside CART within every budget."""
    told = "; ".join(f"with {budget} {tally(_against_cart(results, method, budget))}" for budget in BUDGETS)
    return f"{method[0].upper()}{method[1:]} is, beside {CART}, {told}."


def _in_training(results: Results) -> str:
    """How much of the gain in training is left on the test rows."""
    told = []
    for method in (BEST, NEAR, REFINED):
        for budget in ("8 leaves", "16 leaves"):
            train, test = (
                _against_cart(results, method, budget, figure).mean_difference
                for figure in ("train_accuracy", "accuracy")
            )
            told.append(f"{method} with {budget} {points(train)} in training and {points(test)} in test")
    return f"What the search gains on the rows that it sees, and what is left on others, in points: {'; '.join(told)}."


def _where(results: Results) -> str:
    """The data sets where the optimal tree of at most 8 leaves pays most and least."""
    place = {method["name"]: number for number, method in enumerate(results["methods"])}
    accuracy = accuracies(results, "8 leaves")
    gain = accuracy[:, place[BEST]] - accuracy[:, place[CART]]
    names = [table["name"] for table in results["data"]]
    most, least = int(gain.argmax()), int(gain.argmin())
    return (
        f"With 8 leaves the optimal tree gains on {int((gain > SAME).sum())} of {gain.size} data sets, most on "
        f"{names[most]} ({points(gain[most])} points), and does worst on {names[least]} ({points(gain[least])})."
    )


def _in_seconds(results: Results) -> str:
    """The time of a method's trees of all sizes, as a multiple of CART's."""
    names = [table["name"] for table in results["data"]]
    seconds = {m["name"]: np.array([results["seconds"][name][m["name"]] for name in names]) for m in results["methods"]}
    least = np.maximum(seconds[CART], 1e-3)
    each = ", ".join(
        f"{name} {np.exp(np.mean(np.log(np.maximum(own, 1e-3) / least))):.0f}"
        for name, own in seconds.items()
        if name != CART
    )
    return f"Trees of all sizes take, as a multiple of the seconds of {CART} (geometric mean): {each}."


def _on_the_cars(cars: list[Results]) -> str:
    """The best trees of the paper's table 2."""
    better = [row for row in cars if row["best"]["test"] > row["paper"] + 1e-6]
    worse = [row for row in cars if row["best"]["test"] < row["paper"] - 1e-6]
    proven = [row for row in cars if row["optimality"] == "proven"]
    gains = np.mean([row["best"]["train"] - row["cart"]["train"] for row in cars])
    return (
        f"On the cars of Zhu and Zhou (2023) the tree of {len(proven)} of {len(cars)} depths of table 2 is proven to "
        f"be the best; the best trees have {points(float(gains))} points more in training than CART's on average. On "
        f"the paper's test rows they are better than its cell at {len(better)} depths, worse at {len(worse)}, the "
        f"highest being {max(row['best']['test'] for row in cars):.4f}; the table's highest is "
        f"{max(row['paper'] for row in cars):.4f}."
    )
