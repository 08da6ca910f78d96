"""Readers of data sets of the UCI Machine Learning Repository, from the files as it hands them out.

A data set stands in a subfolder of its own, as in `folder/nursery/nursery.data`; files may be gzipped. Columns of words
become pandas' categories, and unknown cells missing values. A *part* is the training or the test rows of data that have
test rows of their own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from jaxtree.errors import InvalidInputError, MissingExtraError

# Columns in the order of the file.
_ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
)
_MUSHROOM = (
    "class cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size gill-color stalk-shape "
    "stalk-root stalk-surface-above-ring stalk-surface-below-ring stalk-color-above-ring stalk-color-below-ring "
    "veil-type veil-color ring-number ring-type spore-print-color population habitat"
)
_NURSERY = "parents has_nurs form children housing finance social health class"
_TIC_TAC_TOE = [f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]
_LETTER = "letter x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx"
_COVTYPE_NUMBERS = (
    "elevation aspect slope water-horizontal water-vertical road hillshade-9am hillshade-noon hillshade-3pm fire"
)
_COVTYPE = [
    *_COVTYPE_NUMBERS.split(),
    *(f"wilderness-{i}" for i in range(1, 5)),
    *(f"soil-{i}" for i in range(1, 41)),
    "cover",
]
_COVTYPE_ROWS = 20_000
_MONKS = ["class", *(f"a{i}" for i in range(1, 7)), "id"]
_ABALONE = "sex length diameter height whole-weight shucked-weight viscera-weight shell-weight rings"


class _Rows(NamedTuple):
    """All rows of a data set; the first `num_train` train, or None if it has no test rows of its own."""

    table: Any
    target: str
    num_train: int | None = None


def load_uci(name: str, folder: str | Path, *, part: str = "all") -> tuple[Any, Any]:
    """Returns a data set as a pandas frame and the series of its target.

    Every category of the whole data set is a level in both parts. Of "covtype-20k" the rows are the first 20,000 of
    Covertype; the codes of the attributes of the "monks" are read as words.

    Args:
        name: One of `UCI_NAMES`.
        folder: The folder with a subfolder for every data set.
        part: "all", or "train" or "test" for data with test rows of their own: adult and the monks.

    Raises:
        InvalidInputError: The name or part is none of these, or the data have no test rows of their own.
        FileNotFoundError: A file is absent; `filename` says which.
        MissingExtraError: pandas is not installed.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from pathlib import Path
        >>> with TemporaryDirectory() as folder:
        ...     (Path(folder) / "nursery").mkdir()
        ...     row = "usual,proper,complete,1,convenient,convenient,nonprob,recommended,recommend"
        ...     written = (Path(folder) / "nursery" / "nursery.data").write_text(row)
        ...     X, y = load_uci("nursery", folder)
        >>> X.shape, y[0]
        ((1, 8), 'recommend')
    """
    if name not in _READERS:
        raise InvalidInputError(f"name must be one of {', '.join(UCI_NAMES)}, got {name!r}")
    if part not in ("all", "train", "test"):
        raise InvalidInputError(f"part must be 'all', 'train' or 'test', got {part!r}")
    if part != "all" and name not in WITH_TEST_ROWS:
        raise InvalidInputError(
            f"part must be 'all' for {name!r}, got {part!r}; test rows of their own have only "
            + ", ".join(WITH_TEST_ROWS)
        )
    rows = _READERS[name](_pandas(), Path(folder))
    X, y = _with_categories(rows.table.drop(columns=rows.target)), rows.table[rows.target]
    chosen = {"all": slice(None), "train": slice(rows.num_train), "test": slice(rows.num_train, None)}[part]
    return X.iloc[chosen], y.iloc[chosen]


def _adult(pandas: Any, folder: Path) -> _Rows:
    # The test file may begin with a comment; its labels end with a dot.
    options = {"names": _ADULT.split(), "na_values": "?", "skipinitialspace": True, "comment": "|"}
    train, test = (pandas.read_csv(_found(folder, f"adult/adult.{part}"), **options) for part in ("data", "test"))
    test["income"] = test["income"].str.rstrip(".")
    return _one_below_the_other(pandas, train, test, "income")


def _monks(pandas: Any, folder: Path, problem: int) -> _Rows:
    # The numbers in the attributes' columns are codes of words (the jacket's colour).
    paths = [_found(folder, f"monks/monks-{problem}.{part}") for part in ("train", "test")]
    train, test = (pandas.read_csv(path, sep=r"\s+", names=_MONKS, dtype=str).drop(columns="id") for path in paths)
    return _one_below_the_other(pandas, train, test, "class")


def _mushroom(pandas: Any, folder: Path) -> _Rows:
    path = _found(folder, "mushroom/agaricus-lepiota.data")
    return _Rows(pandas.read_csv(path, names=_MUSHROOM.split(), na_values="?"), "class")


def _nursery(pandas: Any, folder: Path) -> _Rows:
    return _Rows(pandas.read_csv(_found(folder, "nursery/nursery.data"), names=_NURSERY.split(), dtype=str), "class")


def _tic_tac_toe(pandas: Any, folder: Path) -> _Rows:
    path = _found(folder, "tic-tac-toe/tic-tac-toe.data")
    return _Rows(pandas.read_csv(path, names=[*_TIC_TAC_TOE, "class"]), "class")


def _letter(pandas: Any, folder: Path) -> _Rows:
    return _Rows(pandas.read_csv(_found(folder, "letter/letter-recognition.data"), names=_LETTER.split()), "letter")


def _covtype(pandas: Any, folder: Path) -> _Rows:
    path = _found(folder, "covtype-20k/covtype.20k.data", "covtype/covtype.data")
    return _Rows(pandas.read_csv(path, names=_COVTYPE, nrows=_COVTYPE_ROWS), "cover")


def _abalone(pandas: Any, folder: Path) -> _Rows:
    return _Rows(pandas.read_csv(_found(folder, "abalone/abalone.data"), names=_ABALONE.split()), "rings")


def _winequality(pandas: Any, folder: Path) -> _Rows:
    """Red and white wines in one table, with the colour as a column."""
    colors = ("red", "white")
    paths = [_found(folder, f"winequality/winequality-{color}.csv") for color in colors]
    parts = [pandas.read_csv(path, sep=";").assign(color=c) for path, c in zip(paths, colors, strict=True)]
    return _Rows(pandas.concat(parts, ignore_index=True), "quality")


_READERS: dict[str, Callable[[Any, Path], _Rows]] = {
    "adult": _adult,
    "mushroom": _mushroom,
    "nursery": _nursery,
    "tic-tac-toe": _tic_tac_toe,
    "monks-1": lambda pandas, folder: _monks(pandas, folder, 1),
    "monks-2": lambda pandas, folder: _monks(pandas, folder, 2),
    "monks-3": lambda pandas, folder: _monks(pandas, folder, 3),
    "letter": _letter,
    "covtype-20k": _covtype,
    "abalone": _abalone,
    "winequality": _winequality,
}
UCI_NAMES = tuple(_READERS)
"""The data sets that `load_uci` reads."""
WITH_TEST_ROWS = ("adult", "monks-1", "monks-2", "monks-3")
"""Those that come with test rows of their own."""


def _found(folder: Path, *names: str) -> Path:
    """The first of some files that is there, as it is or gzipped."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise FileNotFoundError(2, "the data set's file is absent", str(folder / names[0]))


def _one_below_the_other(pandas: Any, train: Any, test: Any, target: str) -> _Rows:
    return _Rows(pandas.concat([train, test], ignore_index=True), target, len(train))


def _with_categories(X: Any) -> Any:
    """Columns of words as categories; columns of numbers as they are."""
    words = [name for name in X.columns if _pandas().api.types.is_string_dtype(X[name].dtype)]
    return X.astype(dict.fromkeys(words, "category"))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError('load_uci needs pandas: pip install "jaxtree[frames]"') from error
    return pandas
