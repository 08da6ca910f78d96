"""The findings of the comparison in plain words.

Every sentence is decided by the figures, so other data would get other sentences. A *point* is a hundredth of the test
rows. The method with the best mean rank stands for all of its kind.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree_studies import ranks
from jaxtree_studies.pruning_methods import CLASSICAL, FOREST, ONE_DRAW, TUNED_DRAW, TUNED_VOTE, UNPRUNED, VOTE_OF_ALL
from jaxtree_studies.prunings import ORIGINAL, SHUFFLED, accuracies
from jaxtree_studies.ranks import ALPHA, SAME, Comparison
from jaxtree_studies.words import is_are, listed, p_value, points, tally

LEAST_DATA = 6
"""On fewer data sets no outcome of Wilcoxon's two-sided test has a p-value below 0.05: the least is 2 / 2^n."""

Results = dict[str, Any]


class _Figures(NamedTuple):
    """The accuracies of every method by name, and who stands for a kind of method."""

    accuracy: dict[str, Float[np.ndarray, " data"]]
    data: list[str]
    draw: str
    vote: str
    tuned: str
    classical: str
    forest: str

    def against(self, method: str, other: str = UNPRUNED) -> Comparison:
        """One method against another."""
        return ranks.compare(self.accuracy[method], self.accuracy[other])

    @property
    def dropouts(self) -> dict[str, str]:
        """The kinds of dropout in words, with the method that stands for each."""
        return {"one draw": self.draw, "a vote": self.vote, "tuned rates": self.tuned}


def verdict(results: Results) -> list[str]:
    """Returns what the study finds, a paragraph each, the short answer first."""
    figures = _figures(results)
    return [
        _in_short(figures),
        _over_all(results),
        _by_draw(results, figures),
        _by_vote(figures),
        _by_tuning(results, figures),
        _against_others(figures),
        _on_the_cars(results, figures),
        _where(figures),
    ]


def _figures(results: Results) -> _Figures:
    names = [method["name"] for method in results["methods"]]
    mean, family = results["ranks"]["mean"], {m["name"]: m["family"] for m in results["methods"]}

    def best(chosen: list[str]) -> str:
        return min(chosen, key=lambda name: (round(mean[name], 9), names.index(name)))

    return _Figures(
        accuracy=dict(zip(names, accuracies(results).T, strict=True)),
        data=[table["name"] for table in results["data"]],
        draw=ONE_DRAW,
        vote=best([name for name in names if name.startswith(VOTE_OF_ALL.removesuffix("all"))]),
        tuned=best([TUNED_DRAW, TUNED_VOTE]),
        classical=best([name for name in names if family[name] == CLASSICAL]),
        forest=best([name for name in names if family[name] == FOREST]),
    )


def _in_short(figures: _Figures) -> str:
    """The answers of the tests alone."""
    others = {
        "no pruning": UNPRUNED,
        f"the best classical pruning, {figures.classical},": figures.classical,
        f"the {figures.forest}": figures.forest,
    }
    answers = []
    for words, other in others.items():
        kinds: dict[str, list[str]] = {}
        for kind, method in figures.dropouts.items():
            kinds.setdefault(_judged(figures.against(method, other)), []).append(kind)
        told = "; ".join(f"{answer} by {listed(of)}" for answer, of in kinds.items())
        answers.append(f"Against {words} dropout {told}.")
    if len(figures.data) < LEAST_DATA:
        answers.append(f"On {len(figures.data)} data sets alone Wilcoxon's test could not tell anything.")
    return " ".join(answers)


def _judged(comparison: Comparison) -> str:
    if not comparison.is_sure:
        return "makes no difference that Wilcoxon's test would tell from chance"
    return "is more accurate" if comparison.mean_difference > 0 else "is less accurate"


def _over_all(results: Results) -> str:
    mean, friedman = results["ranks"]["mean"], results["ranks"]["friedman"]
    difference = results["ranks"]["critical_difference"]
    best = min(mean, key=mean.get)
    worse = [name for name in mean if mean[name] > mean[best] + difference]
    told = "differ" if friedman["p_value"] < ALPHA else "cannot be told apart"
    return (
        f"Over {len(results['data'])} data sets the {len(mean)} methods {told} (Friedman's test, "
        f"{p_value(friedman['p_value'])}). The best mean rank has {best} ({mean[best]:.2f}); no pruning has "
        f"{mean[UNPRUNED]:.2f}. Two methods are told apart if their mean ranks are {difference:.2f} apart (Nemenyi's "
        f"test): so far from the best {is_are(worse)}."
    )


def _by_draw(results: Results, figures: _Figures) -> str:
    folds = [fold["methods"][ONE_DRAW] for table in results["data"] for fold in table["folds"]]
    declined = sum(fold["chosen"]["p"] == 0 for fold in folds)
    expected = np.array(
        [np.mean([f["methods"][ONE_DRAW]["expected_accuracy"] for f in table["folds"]]) for table in results["data"]]
    )
    average = ranks.compare(expected, figures.accuracy[UNPRUNED])
    return (
        f"Against no pruning, one draw, its p and q chosen by cross-validation, is "
        f"{tally(figures.against(ONE_DRAW))}. In {declined} of {len(folds)} outer folds the choice is p = 0, which "
        f"prunes nothing. The exact average of all draws at the chosen rates, without luck, is {tally(average)}."
    )


def _by_vote(figures: _Figures) -> str:
    return (
        f"The vote with the best mean rank is {figures.vote}: against no pruning it is "
        f"{tally(figures.against(figures.vote))}; against one draw, {tally(figures.against(figures.vote, ONE_DRAW))}."
    )


def _by_tuning(results: Results, figures: _Figures) -> str:
    told = "; ".join(f"{name} is {tally(figures.against(name))}" for name in (TUNED_DRAW, TUNED_VOTE))
    folds = [fold["methods"] for table in results["data"] for fold in table["folds"]]
    whole = sum(fold[TUNED_DRAW]["leaves"] == fold[UNPRUNED]["leaves"] for fold in folds)
    return (
        f"With rates tuned by gradient on held-out rows, against no pruning: {told}. In {whole} of {len(folds)} outer "
        "folds the tuned draw keeps every leaf."
    )


def _against_others(figures: _Figures) -> str:
    parts = [
        f"Of the classical prunings {figures.classical} has the best mean rank; against no pruning it is "
        f"{tally(figures.against(figures.classical))}."
    ]
    for other in (figures.classical, figures.forest):
        told = "; ".join(f"{name} is {tally(figures.against(name, other))}" for name in figures.dropouts.values())
        parts.append(f"Against {other}: {told}.")
    return " ".join(parts)


def _on_the_cars(results: Results, figures: _Figures) -> str:
    """The claim of Zhu and Zhou (2023) is about the cars in their original order."""
    told = []
    for name, words in ((ORIGINAL, "in their original order"), (SHUFFLED, "shuffled")):
        place = figures.data.index(name)
        unpruned = figures.accuracy[UNPRUNED][place]
        methods = [*figures.dropouts.values(), figures.classical, figures.forest]
        each = ", ".join(
            f"{method} {points(figures.accuracy[method][place] - unpruned)}" for method in dict.fromkeys(methods)
        )
        helps = [k for k, m in figures.dropouts.items() if figures.accuracy[m][place] > unpruned + SAME]
        told.append(
            f"On the cars {words} no pruning has {unpruned:.4f}; the difference to it, in points: {each}. There "
            "dropout " + (f"is better by {listed(helps)}." if helps else "is better in none of its forms.")
        )
    return " ".join(told)


def _where(figures: _Figures) -> str:
    vote = figures.accuracy[figures.vote] - figures.accuracy[UNPRUNED]
    classical = figures.accuracy[figures.classical] - figures.accuracy[UNPRUNED]
    pays = classical > SAME
    with_it, without = int((vote[pays] > SAME).sum()), int((vote[~pays] > SAME).sum())
    most, least = int(vote.argmax()), int(vote.argmin())
    return (
        f"The vote ({figures.vote}) gains on {with_it} of the {int(pays.sum())} data sets where the best classical "
        f"pruning gains, and on {without} of the {int((~pays).sum())} others. It does best on {figures.data[most]} "
        f"({points(vote[most])} points against no pruning) and worst on {figures.data[least]} "
        f"({points(vote[least])})."
    )
