"""Readers of data sets of the UCI Machine Learning Repository, from its own files.

A data set stands in a subfolder of its own, as in `folder/nursery/nursery.data`; files may be gzipped. Columns of words
become pandas' categories, and unknown cells missing values. A *part* is the training or the test rows of data that have
test rows of their own.
"""

from pathlib import Path
from typing import Any, NamedTuple

from jaxtree.errors import InvalidInputError, import_extra

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
_MONKS = ["class", *(f"a{i}" for i in range(1, 7)), "id"]
_ABALONE = "sex length diameter height whole-weight shucked-weight viscera-weight shell-weight rings"


class _DataSet(NamedTuple):
    """The files of a data set, one below the other, and how pandas reads them; of each the first name there is.

    If it has test rows of its own, they are those of its last file.
    """

    target: str
    files: tuple[tuple[str, ...], ...]
    options: dict[str, Any]
    has_test_rows: bool = False


def _monks(problem: int) -> _DataSet:
    # The numbers in the attributes' columns are codes of words (the jacket's colour).
    options = {"sep": r"\s+", "names": _MONKS, "usecols": _MONKS[:-1], "dtype": str}
    files = (f"monks/monks-{problem}.train",), (f"monks/monks-{problem}.test",)
    return _DataSet("class", files, options, has_test_rows=True)


_DATA_SETS = {
    "adult": _DataSet(
        "income",
        (("adult/adult.data",), ("adult/adult.test",)),
        # The test file may begin with a comment.
        {"names": _ADULT.split(), "na_values": "?", "skipinitialspace": True, "comment": "|"},
        has_test_rows=True,
    ),
    "mushroom": _DataSet(
        "class", (("mushroom/agaricus-lepiota.data",),), {"names": _MUSHROOM.split(), "na_values": "?"}
    ),
    "nursery": _DataSet("class", (("nursery/nursery.data",),), {"names": _NURSERY.split(), "dtype": str}),
    "tic-tac-toe": _DataSet("class", (("tic-tac-toe/tic-tac-toe.data",),), {"names": [*_TIC_TAC_TOE, "class"]}),
    "monks-1": _monks(1),
    "monks-2": _monks(2),
    "monks-3": _monks(3),
    "letter": _DataSet("letter", (("letter/letter-recognition.data",),), {"names": _LETTER.split()}),
    "covtype-20k": _DataSet(
        "cover", (("covtype-20k/covtype.20k.data", "covtype/covtype.data"),), {"names": _COVTYPE, "nrows": 20_000}
    ),
    "abalone": _DataSet("rings", (("abalone/abalone.data",),), {"names": _ABALONE.split()}),
    "winequality": _DataSet(
        "quality", (("winequality/winequality-red.csv",), ("winequality/winequality-white.csv",)), {"sep": ";"}
    ),
}
UCI_NAMES = tuple(_DATA_SETS)
"""The data sets that `load_uci` reads."""
WITH_TEST_ROWS = tuple(name for name, data_set in _DATA_SETS.items() if data_set.has_test_rows)
"""The data sets that come with test rows of their own."""


def load_uci(name: str, folder: str | Path, *, part: str = "all") -> tuple[Any, Any]:
    """Returns a data set as a pandas frame and the series of its target.

    Every category of the whole data set is a level in both parts. The rows of "covtype-20k" are the first 20,000 of
    Covertype; the codes of the attributes of the "monks" are read as words; "winequality" has red and white wines, with
    the colour as a column.

    Args:
        name: One of `UCI_NAMES`.
        folder: The folder with a subfolder for every data set.
        part: "all", or "train" or "test" for data with test rows of their own: adult and the monks.

    Raises:
        InvalidInputError: The name or part is none of these, or the data have no test rows of their own.
        FileNotFoundError: A file is absent; `filename` is its path.
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
    if name not in _DATA_SETS:
        raise InvalidInputError(f"name must be one of {', '.join(UCI_NAMES)}, got {name!r}")
    if part not in ("all", "train", "test"):
        raise InvalidInputError(f"part must be 'all', 'train' or 'test', got {part!r}")
    if part != "all" and name not in WITH_TEST_ROWS:
        raise InvalidInputError(
            f"part must be 'all' for {name!r}, got {part!r}; test rows of their own have only "
            + ", ".join(WITH_TEST_ROWS)
        )
    pandas = import_extra("pandas", "load_uci", "frames")
    target, files, options, _ = _DATA_SETS[name]
    tables = [pandas.read_csv(_found(Path(folder), *names), **options) for names in files]
    num_train, table = len(tables[0]), pandas.concat(tables, ignore_index=True)
    if name == "adult":  # labels of the test file end with a dot
        table[target] = table[target].str.rstrip(".")
    if name == "winequality":
        table["color"] = ["red"] * num_train + ["white"] * (len(table) - num_train)
    X, y = table.drop(columns=target), table[target]
    words = [column for column in X.columns if pandas.api.types.is_string_dtype(X[column].dtype)]
    X = X.astype(dict.fromkeys(words, "category"))
    chosen = {"all": slice(None), "train": slice(num_train), "test": slice(num_train, None)}[part]
    return X.iloc[chosen], y.iloc[chosen]


def _found(folder: Path, *names: str) -> Path:
    """The first of some files that is there, as it is or gzipped."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise FileNotFoundError(2, "the data set's file is absent", str(folder / names[0]))
