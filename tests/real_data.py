"""Real data sets as pandas frames: categories as `category` columns, unknown cells as missing.

`load(name, folder)` reads one of `NAMES` from its subfolder of `folder`, in the form in which the UCI repository (or
ggplot2, palmerpenguins) hands it out. Data with a test file of their own keep it; of the others a quarter of the rows,
always the same ones, are the test rows.
"""

from pathlib import Path

import pandas as pd
from sklearn.model_selection import train_test_split

TEST_SHARE = 0.25
SPLIT_SEED = 1

# Columns in the order of the file, separated by blanks.
ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
)
MUSHROOM = (
    "class cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size gill-color stalk-shape "
    "stalk-root stalk-surface-above-ring stalk-surface-below-ring stalk-color-above-ring stalk-color-below-ring "
    "veil-type veil-color ring-number ring-type spore-print-color population habitat"
)
NURSERY = "parents has_nurs form children housing finance social health class"
TIC_TAC_TOE = [f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]
LETTER = "letter x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx"
COVTYPE_NUMBERS = (
    "elevation aspect slope water-horizontal water-vertical road hillshade-9am hillshade-noon hillshade-3pm fire"
)
COVTYPE = [
    *COVTYPE_NUMBERS.split(),
    *(f"wilderness-{i}" for i in range(1, 5)),
    *(f"soil-{i}" for i in range(1, 41)),
    "cover",
]
ABALONE = "sex length diameter height whole-weight shucked-weight viscera-weight shell-weight rings"
# Worst first, as in ggplot2.
DIAMOND_LEVELS = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": ["J", "I", "H", "G", "F", "E", "D"],
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}


def load(name, folder):
    """`(X_train, X_test, y_train, y_test)` of one data set; FileNotFoundError where its files are absent."""
    if name not in LOADERS:
        raise ValueError(f"name must be one of {', '.join(LOADERS)}, got {name!r}")
    return LOADERS[name](Path(folder))


def adult(folder):
    files = [folder / "adult" / f"adult.{part}.gz" for part in ("data", "test")]
    train, test = (pd.read_csv(f, names=ADULT.split(), na_values="?", skipinitialspace=True) for f in files)
    # The labels of the test file end with a dot.
    test["income"] = test["income"].str.rstrip(".")
    return take_apart(train, test, "income")


def mushroom(folder):
    table = pd.read_csv(folder / "mushroom" / "agaricus-lepiota.data", names=MUSHROOM.split(), na_values="?")
    return split(table, "class")


def nursery(folder):
    return split(pd.read_csv(folder / "nursery" / "nursery.data", names=NURSERY.split(), dtype=str), "class")


def tic_tac_toe(folder):
    return split(pd.read_csv(folder / "tic-tac-toe" / "tic-tac-toe.data", names=[*TIC_TAC_TOE, "class"]), "class")


def monks(folder, problem):
    """The numbers in the attributes' columns are codes of words (the jacket's colour), so they are read as words."""
    columns = ["class", *(f"a{i}" for i in range(1, 7)), "id"]
    files = [folder / "monks" / f"monks-{problem}.{part}" for part in ("train", "test")]
    train, test = (pd.read_csv(f, sep=r"\s+", names=columns, dtype=str).drop(columns="id") for f in files)
    return take_apart(train, test, "class")


def letter(folder):
    return split(pd.read_csv(folder / "letter" / "letter-recognition.data", names=LETTER.split()), "letter")


def covtype(folder):
    return split(pd.read_csv(folder / "covtype-20k" / "covtype.20k.data.gz", names=COVTYPE), "cover")


def abalone(folder):
    return split(pd.read_csv(folder / "abalone" / "abalone.data", names=ABALONE.split()), "rings")


def winequality(folder):
    """Red and white wines in one table, with the colour as a column."""
    parts = [
        pd.read_csv(folder / "winequality" / f"winequality-{color}.csv", sep=";").assign(color=color)
        for color in ("red", "white")
    ]
    return split(pd.concat(parts, ignore_index=True), "quality")


def diamonds(folder):
    table = pd.read_csv(folder / "diamonds" / "diamonds.csv.gz").drop(columns="rownames")
    ordered = {name: pd.CategoricalDtype(levels, ordered=True) for name, levels in DIAMOND_LEVELS.items()}
    return split(table.astype(ordered), "price")


def penguins(folder):
    return split(pd.read_csv(folder / "penguins" / "penguins.csv").drop(columns="rownames"), "species")


LOADERS = {
    "adult": adult,
    "mushroom": mushroom,
    "nursery": nursery,
    "tic-tac-toe": tic_tac_toe,
    "monks-1": lambda folder: monks(folder, 1),
    "monks-2": lambda folder: monks(folder, 2),
    "monks-3": lambda folder: monks(folder, 3),
    "letter": letter,
    "covtype-20k": covtype,
    "penguins": penguins,
    "abalone": abalone,
    "winequality": winequality,
    "diamonds": diamonds,
}
NAMES = tuple(LOADERS)
REGRESSION = frozenset({"abalone", "winequality", "diamonds"})


def split(table, target):
    """The parts of a table that has no test file of its own."""
    X, y = with_categories(table.drop(columns=target)), table[target]
    return tuple(train_test_split(X, y, test_size=TEST_SHARE, random_state=SPLIT_SEED))


def take_apart(train, test, target):
    """The parts of two tables; a category of either is a level in both."""
    table = pd.concat([train, test], ignore_index=True)
    X, y = with_categories(table.drop(columns=target)), table[target]
    n = len(train)
    return X.iloc[:n], X.iloc[n:], y.iloc[:n], y.iloc[n:]


def with_categories(X):
    """Columns of words as categories; columns of numbers, and categories already there, as they are."""
    words = [name for name in X.columns if pd.api.types.is_string_dtype(X[name].dtype)]
    return X.astype(dict.fromkeys(words, "category"))
