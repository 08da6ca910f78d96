"""Draws the charts of README and of the page of benchmarks: `python notebooks/make_charts.py [NAME ...]`.

The figures are those of `benchmarks/results/`. Each chart names the cores, the versions and the day
of its figures, and is written to `images/NAME.svg`.
"""

import json
import pathlib
import sys
from statistics import mean

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

HERE = pathlib.Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"
OURS = "#00695c"
PEERS = {"LightGBM": "#8f9ca3", "XGBoost": "#b4bdc2", "scikit-learn": "#6d7a81", "YDF": "#cdd4d7"}
COLORS = {"jaxtree": OURS, **PEERS}
NAMES = {"jaxtree": "jaxtree", "lightgbm": "LightGBM", "xgboost": "XGBoost", "sklearn": "scikit-learn", "ydf": "YDF"}
MOST = 12  # percent: what is farther away stands as a number
MARKS = {"lightgbm": "o", "xgboost": "s", "sklearn": "^"}
MARK_COLORS = {"lightgbm": "#1f77b4", "xgboost": "#d95f02", "sklearn": "#555555"}

plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "jaxtree",
        "font.family": ["DejaVu Sans"],
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "legend.frameon": False,
    }
)


def read(name):
    """The figures of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def versions(results, *names):
    """The versions of libraries, as a line has them."""
    own = {name.removesuffix("-cpu"): number for name, number in results["versions"].items()}
    return ", ".join(f"{NAMES[name]} {own['scikit-learn' if name == 'sklearn' else name]}" for name in names)


def points_of(results, case):
    """The points of a case of the suite, by label."""
    # A case may have been run twice; the whole one is last.
    found = [own for own in results["cases"] if own["name"] == case][-1]
    return {point["label"]: point["contenders"] for point in found["points"]}


def bars(axis, title, seconds, note=""):
    """One bar a library, with its seconds, the smallest first."""
    ordered = sorted(seconds, key=seconds.get, reverse=True)
    values = [seconds[name] for name in ordered]
    axis.barh(ordered, values, color=[COLORS[name] for name in ordered], height=0.66)
    for place, value in enumerate(values):
        text = f"{value:.2f} s" if value < 10 else f"{value:,.0f} s" if value < 300 else f"{value / 60:.0f} min"
        axis.text(value + max(values) * 0.02, place, text, va="center", fontsize=9)
    for label in axis.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == "jaxtree" else "normal")
    axis.set_xlim(0, max(values) * 1.28)
    axis.set_title(title, pad=14 if note else 6)
    if note:
        axis.text(0, 1.02, note, transform=axis.transAxes, fontsize=8, color="#555")
    axis.spines["bottom"].set_visible(False)
    axis.tick_params(left=False, bottom=False, labelbottom=False)


def foot(figure, text):
    """A line below a figure: where, when and what was measured."""
    figure.text(0.01, 0.01, text, fontsize=7.5, color="#555", va="bottom")


def speed():
    """The chart of README: a tree, a forest, boosting, two searches."""
    headline, boosting, search = read("headline-2026-11-23"), read("boosting-2026-11-24"), read("search-2026-11-21")
    searches = read("search-boosting-2026-11-25")["10,000 x 20, 200 settings x 5 folds"]
    tree = headline["one tree, 1,000,000 x 28, depth 8"]["seconds"]
    forest = headline["forest, 100 trees, 100,000 x 28, depth 10"]["seconds"]
    figure, axes = plt.subplots(1, 5, figsize=(11, 2.05))
    bars(axes[0], "One tree", {NAMES[k]: v["whole"] for k, v in tree.items()}, "10⁶ rows × 28, depth 8")
    bars(axes[1], "Forest", {NAMES[k]: v["whole"] for k, v in forest.items()}, "100 trees, 10⁵ rows × 28")
    boosted = {NAMES[k]: v["warm"] for k, v in boosting["1,000,000 x 28"].items()}
    bars(axes[2], "Boosting", boosted, "100 trees, 10⁶ rows × 28")
    both = {"jaxtree": searches["jaxtree"]["warm"], "LightGBM": searches["lightgbm"]["seconds"]}
    bars(axes[3], "Search of boosted trees", both, "200 settings × 5 folds, 10⁴ rows*")
    large = search["large"]
    both = {"jaxtree": large["warm"], "scikit-learn": large["peer_extrapolated"]}
    bars(axes[4], "Search of trees", both, "1,200 fits, 10⁵ rows*")
    figure.tight_layout(rect=(0, 0.07, 1, 1), w_pad=0.6)
    day = f"{search['date']} to 2026-11-25"
    libraries = versions(boosting, "jaxtree", "lightgbm", "xgboost", "sklearn")
    foot(figure, f"Seconds, 2 cores of an x86-64, {day}; {libraries}. * peers scaled from a part of the fits.")
    return figure


def scaling():
    """One tree by the number of rows."""
    results = read("suite-2026-11-22")
    points = points_of(results, "scaling-rows")
    rows = [int(label.split()[0].replace(",", "")) for label in points]
    figure, axis = plt.subplots(figsize=(6, 3.3))
    for key in ("jaxtree", "lightgbm"):
        seconds = [own[key]["together"]["median"] for own in points.values()]
        axis.loglog(rows, seconds, "o-", color=COLORS[NAMES[key]], label=NAMES[key])
        axis.text(rows[-1] * 1.12, seconds[-1], NAMES[key], color=COLORS[NAMES[key]], va="center")
    axis.set_xlabel("rows")
    axis.set_ylabel("seconds")
    axis.set_xlim(8e4, 3.2e7)
    axis.grid(alpha=0.25)
    axis.set_title("One tree from the raw matrix, by rows")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    foot(figure, f"2 cores, {results['date']}, before the kernel in C++; {versions(results, 'jaxtree', 'lightgbm')}.")
    return figure


def losses():
    """Boosting on real tables: each library's loss in percent of jaxtree's."""
    results = read("boosting-2026-11-24")
    tables = {name: own for name, own in results.items() if isinstance(own, dict) and "sklearn" in own}
    figure, axis = plt.subplots(figsize=(7.5, 4.2))
    order = sorted(tables, key=lambda name: mean(tables[name][key]["loss"] / tables[name]["jaxtree"]["loss"]
                                                  for key in ("lightgbm", "xgboost", "sklearn")))  # fmt: skip
    beyond = {}
    for key in ("lightgbm", "xgboost", "sklearn"):
        differences = [100 * (tables[name][key]["loss"] / tables[name]["jaxtree"]["loss"] - 1) for name in order]
        clipped = [min(max(own, -MOST), MOST) for own in differences]
        axis.plot(clipped, order, MARKS[key], color=MARK_COLORS[key], label=NAMES[key], alpha=0.85)
        # A value that does not fit stands as a number at the edge.
        for name, value in zip(order, differences, strict=True):
            if abs(value) > MOST:
                beyond.setdefault((name, value > 0), []).append(f"{NAMES[key]} {value:+,.0f}")
    for (name, is_right), texts in beyond.items():
        axis.text(MOST * 1.05 if is_right else -MOST * 1.05, name, ", ".join(texts), fontsize=7, va="center",
                  ha="left" if is_right else "right")  # fmt: skip
    axis.axvline(0, color=OURS, lw=2)
    axis.text(0, len(order) - 0.3, "jaxtree", color=OURS, ha="center", fontweight="bold")
    axis.set_ylim(-0.6, len(order) + 0.2)
    axis.set_xlabel("test loss beside jaxtree's, % (right: jaxtree is better)")
    axis.grid(axis="y", alpha=0.25)
    axis.set_xlim(-MOST * 1.7, MOST * 2.7)
    axis.set_xticks(range(-10, 15, 5))
    axis.legend(loc="lower right")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    libraries = versions(results, "jaxtree", "lightgbm", "xgboost", "sklearn")
    foot(figure, f"Early stopping, each library's defaults, {results['date']}; {libraries}.")
    return figure


def small_tables():
    """CPU time of fits of ordinary tables beside scikit-learn's."""
    results = read("user-tables-2026-11-23")
    kinds = {"tree": "tree", "depth-8": "depth 8", "forest": "forest of 100", "extra": "extra trees"}
    figure, axes = plt.subplots(1, 4, figsize=(10, 3.6), sharey=True)
    cells = sorted(results["cells"], key=lambda own: own["rows"], reverse=True)
    tables = list(dict.fromkeys(own["table"] for own in cells if own["fit"] == "forest"))
    for axis, (kind, title) in zip(axes, kinds.items(), strict=True):
        ratios = {own["table"]: own["ratios"]["cpu"] for own in cells if own["fit"] == kind}
        values = [ratios[name] for name in tables]
        axis.barh(tables, values, color=[OURS if value <= 1 else "#c98a3d" for value in values], height=0.66)
        for place, value in enumerate(values):
            axis.text(value + 0.04 * max(values), place, f"{value:.1f}", va="center", fontsize=8)
        axis.axvline(1, color="#555", lw=1, ls="--")
        axis.set_xlim(0, max(values) * 1.18)
        axis.set_title(title)
        axis.spines["bottom"].set_visible(False)
        axis.tick_params(left=False, bottom=False, labelbottom=False)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    libraries = versions(results, "jaxtree", "sklearn")
    foot(figure, f"CPU time over scikit-learn's (dashed: equal), later fits, 2 cores, {results['date']}; {libraries}.")
    return figure


def prediction():
    """Predictions of a tree, a forest and one row."""
    results = read("suite-2026-11-22")
    cases = {
        "predict-tree": ("Tree of depth 8", "a million rows"),
        "predict-forest": ("100 trees of depth 10", "100,000 rows"),
        "predict-row": ("One row", "a tree, milliseconds"),
    }
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.4))
    for axis, (case, (title, note)) in zip(axes, cases.items(), strict=True):
        (contenders,) = points_of(results, case).values()
        factor = 1000 if case == "predict-row" else 1
        bars(axis, title, {NAMES[k]: factor * own["together"]["median"] for k, own in contenders.items()}, note)
        if case == "predict-row":
            for text in axis.texts[:-1]:
                text.set_text(text.get_text().replace(" s", " ms"))
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    libraries = versions(results, "jaxtree", "lightgbm", "xgboost", "sklearn", "ydf")
    foot(figure, f"2 cores, {results['date']}, before predictions by the kernel; {libraries}.")
    return figure


def tuned():
    """A search and an ensemble on real tables beside LightGBM."""
    results = read("search-tables-2026-11-25")
    tables = results["tables"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.1), sharey=True)
    names = list(tables)[::-1]
    left.barh(names, [tables[name]["jaxtree"]["seconds"] / tables[name]["lightgbm"]["seconds"] for name in names],
              color=OURS, height=0.6)  # fmt: skip
    left.axvline(1, color="#555", lw=1, ls="--")
    left.set_title("CPU time over LightGBM's")
    differences = [100 * (tables[own]["jaxtree"]["loss"] / tables[own]["lightgbm"]["loss"] - 1) for own in names]
    right.barh(names, differences, color=[OURS if value <= 0 else "#c98a3d" for value in differences], height=0.6)
    right.axvline(0, color="#555", lw=1)
    right.set_title("test loss beside LightGBM's, %")
    for axis in (left, right):
        axis.grid(axis="x", alpha=0.25)
        axis.tick_params(left=False)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    foot(figure, f"Same settings, ensembles of both; {results['date']}; {versions(results, 'jaxtree', 'lightgbm')}.")
    return figure


def soft():
    """Test accuracy of soft trees and of the hard trees made of them."""
    results = read("soft-trees-2026-11-22")
    tables = {"letter": 10, "car": 4, "balance": 4, "banknote": 4, "wine-red": 3, "wine-white": 3}
    figure, axis = plt.subplots(figsize=(7.5, 3.1))
    kinds = {"cart": ("CART", "#8f9ca3"), "hard": ("hardened", "#4db6ac"), "soft": ("soft", OURS)}
    for place, (key, (label, color)) in enumerate(kinds.items()):
        parts = [results["parts"][f"accuracy:{name}"] for name in tables]
        values = [100 * mean(split[key] for split in part.values()) for part in parts]
        places = [own + 0.27 * (place - 1) for own in range(len(tables))]
        axis.bar(places, values, 0.26, color=color, label=label)
        for own, value in zip(places, values, strict=True):
            axis.text(own, value + 1, f"{value:.0f}", ha="center", fontsize=8)
    axis.set_xticks(range(len(tables)), [f"{name}\ndepth {depth}" for name, depth in tables.items()])
    axis.set_ylabel("test accuracy, %")
    axis.set_ylim(0, 112)
    axis.legend(ncols=3, loc="upper right", bbox_to_anchor=(1, 1.14))
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    foot(figure, f"Means of 5 random splits, {results['date']}; scikit-learn {results['versions']['scikit-learn']}.")
    return figure


def small_trees():
    """Mean ranks of methods at budgets of leaves."""
    results = read("optimal-2026-11-24")
    methods = [own["name"] for own in results["methods"]]
    figure, axis = plt.subplots(figsize=(7.5, 3.2))
    colors = ["#8f9ca3", "#cdd4d7", "#c98a3d", OURS, "#4db6ac", "#80cbc4"]
    for place, (method, color) in enumerate(zip(methods, colors, strict=True)):
        ranks = [results["ranks"][budget]["mean"][method] for budget in results["budgets"]]
        axis.bar([own + 0.13 * (place - 2.5) for own in range(len(ranks))], ranks, 0.12, color=color, label=method)
    axis.set_xticks(range(len(results["budgets"])), results["budgets"])
    axis.set_ylabel("mean rank (1 is best)")
    axis.legend(fontsize=8, ncols=1, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    foot(figure, f"Test accuracy on {len(results['data'])} data sets, nested cross-validation, {results['date']}.")
    return figure


CHARTS = {own.__name__: own for own in (speed, scaling, losses, small_tables, prediction, tuned, soft, small_trees)}


def draw(name, folder):
    """Writes a chart; equal figures make an equal file."""
    file = pathlib.Path(folder) / f"{name}.svg"
    figure = CHARTS[name]()
    figure.savefig(file, facecolor="white", metadata={"Date": None})
    plt.close(figure)
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")
    return file


if __name__ == "__main__":
    for chosen in sys.argv[1:] or CHARTS:
        print(draw(chosen, HERE / "images"))
