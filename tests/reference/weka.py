"""Readers of the data and of the printed trees of other programs: Weka's ARFF files, C4.5's tables, and their logs.

Categories and classes keep the order in which a data set declares them.
"""

import csv
import pathlib
import re

import numpy as np
import pandas as pd

_NUMERIC = ("numeric", "real", "integer")
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.*)", re.IGNORECASE)
_GOLF_WORDS = {"rainy": "rain", "TRUE": "true", "FALSE": "false", "yes": "Play", "no": "Don't Play"}
_MONK_VALUES = [3, 3, 2, 3, 4, 2]  # how many values each of the six attributes declares


def read_arff(path: pathlib.Path) -> tuple[pd.DataFrame, pd.Series]:
    """Returns the attributes and the target (the attribute named class, else the last one) of an ARFF file."""
    lines = [line.strip() for line in path.read_text(encoding="latin-1").splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    start = next(i for i, line in enumerate(lines) if line.lower().startswith("@data"))
    declared = [match.groups() for line in lines[:start] if (match := _ATTRIBUTE.match(line))]
    rows = [_cells(line) for line in lines[start + 1 :]]
    cells = zip(*rows, strict=True)
    frame = pd.DataFrame(
        {_unquoted(name): _column(kind, own) for (name, kind), own in zip(declared, cells, strict=True)}
    )
    target = next((name for name in frame.columns if name.lower() == "class"), frame.columns[-1])
    return frame.drop(columns=target), pd.Series(frame[target])


def _cells(line: str) -> list[str]:
    quote = '"' if '"' in line else "'"
    (cells,) = csv.reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [_unquoted(cell) for cell in cells]


def _unquoted(word: str) -> str:
    return word.strip().strip("'\"").strip()


def _column(kind: str, cells: tuple[str, ...]) -> np.ndarray | pd.Categorical:
    known = [None if cell == "?" else cell for cell in cells]
    if kind.lower() in _NUMERIC:
        return np.array(known, np.float64)
    return pd.Categorical(known, categories=_cells(kind.strip().strip("{}")))


def read_weka(data: pathlib.Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Returns one of the tables that Weka's logs are of."""
    folder = "weather" if name.startswith("weather") else name
    return read_arff(data / folder / f"{name}.arff")


def declared(load, **options) -> tuple[pd.DataFrame, pd.Series]:
    """Returns a textbook's table with categories and classes in the order in which they first appear."""
    X, y = load(return_X_y=True, as_frame=True, **options)
    words = [name for name in X.columns if X[name].dtype.kind != "f"]
    X = X.assign(**{name: pd.Categorical(X[name], categories=X[name].unique()) for name in words})
    return X, pd.Series(pd.Categorical(y, categories=y.unique()))


def read_golf(data: pathlib.Path) -> tuple[pd.DataFrame, pd.Series]:
    """Returns Weka's weather with numbers in the words and the order of Quinlan's golf files."""
    X, y = read_arff(data / "weather" / "weather.numeric.arff")
    X["windy"] = X["windy"].cat.rename_categories(_GOLF_WORDS)
    X["outlook"] = X["outlook"].cat.rename_categories(_GOLF_WORDS)
    return X, y.cat.rename_categories(_GOLF_WORDS)


def read_monk(data: pathlib.Path, number: int, part: str = "train") -> tuple[pd.DataFrame, pd.Series]:
    """Returns the training or the test table of a monks problem with its attributes as categories 1, 2, ..."""
    text = (data / "monks" / f"monks-{number}.{part}").read_text()
    rows = [line.split() for line in text.splitlines() if line.strip()]
    columns = {
        f"attribute#{position}": pd.Categorical(
            [row[position] for row in rows], categories=[str(value) for value in range(1, most + 1)]
        )
        for position, most in enumerate(_MONK_VALUES, start=1)
    }
    return pd.DataFrame(columns), pd.Series(pd.Categorical([row[0] for row in rows], categories=["0", "1"]))


def read_r8(data: pathlib.Path, name: str, part: str = "train") -> tuple[pd.DataFrame, pd.Series]:
    """Returns golf, monk1, monk2 or monk3; the test rows of a monk if asked for."""
    return read_golf(data) if name == "golf" else read_monk(data, int(name.removeprefix("monk")), part)


def printed_text(path: pathlib.Path) -> str:
    """Returns what a log of Weka or C4.5 says of its unpruned tree: the tree, and its size if that follows."""
    text = path.read_text()
    if "Decision Tree:\n" in text:
        return _between(text, r"\nDecision Tree:\n", r"\n\n(?:\n|Tree saved)")
    return _between(text, r"\A.*\n.*\n(?:-+\n)?", r"\n=== Training set")


def simplified_text(path: pathlib.Path) -> str | None:
    """Returns the pruned tree in a log of C4.5, None if it printed one tree alone."""
    text = path.read_text()
    heading = r"\nSimplified Decision Tree:\n"
    return _between(text, heading, r"\n\n(?:\n|Tree saved)") if re.search(heading, text) else None


def printed_numbers(path: pathlib.Path, name: str) -> list[float]:
    """Returns the numbers that a log of Weka has in the line of the name."""
    line = re.search(rf"^{name}(.*)$", path.read_text(), re.MULTILINE)
    return [float(number) for number in re.findall(r"[-\d.]+", line[1])] if line else []


def printed_tree(path: pathlib.Path) -> str:
    """Returns the lines of the tree alone."""
    return re.split(r"\n\nNumber of Lea", printed_text(path))[0]


def printed_sizes(path: pathlib.Path) -> tuple[int, int]:
    """Returns how many leaves and nodes a log of J48 or SimpleCart says the tree has."""
    leaves, nodes = re.findall(r"(?:Number of Lea|Size of the [tT]ree)\D*(\d+)", path.read_text())
    return int(leaves), int(nodes)


def _between(text: str, before: str, after: str) -> str:
    rest = re.split(before, text, maxsplit=1)[-1]
    return re.split(after, rest, maxsplit=1)[0].strip("\n")
