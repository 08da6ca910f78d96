"""Files of UCI's data sets become tables: made-up files of a few rows always, the real ones where they are."""

import gzip
import sys

import pandas as pd
import pytest

from jaxtree.datasets import load_uci
from jaxtree.datasets.uci import UCI_NAMES
from jaxtree.errors import InvalidInputError, MissingExtraError

ADULT = "39, State-gov, 77516, Bachelors, 13, Never-married, Clerical, Own-child, White, Male, 2174, 0, 40, Cuba, {}"
MADE_UP = {
    "adult/adult.data": ADULT.format("<=50K") + "\n" + ADULT.format(">50K").replace("State-gov", "?"),
    "adult/adult.test": "|1x3 Cross validator\n" + ADULT.format(">50K.").replace("Cuba", "Peru"),
    "mushroom/agaricus-lepiota.data": "p,x,s,n,t,p,f,c,n,k,e,?,s,s,w,w,p,w,o,p,k,s,u\n",
    "nursery/nursery.data": "usual,proper,complete,1,convenient,convenient,nonprob,recommended,recommend\n\n",
    "tic-tac-toe/tic-tac-toe.data": "x,x,x,x,o,o,x,o,o,positive\n",
    "monks/monks-1.train": " 1 1 1 1 1 3 1 data_5\n 0 1 2 1 1 1 1 data_6\n",
    "monks/monks-1.test": " 1 1 1 1 1 1 2 data_1\n",
    "letter/letter-recognition.data": "T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8\n",
    "covtype/covtype.data": "\n".join([",".join(map(str, range(55)))] * 20_001),
    "abalone/abalone.data": "M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n",
    "winequality/winequality-red.csv": '"alcohol";"quality"\n9.4;5\n',
    "winequality/winequality-white.csv": '"alcohol";"quality"\n8.8;6\n9.5;6\n',
}
# Rows, columns, and the first target, of the real files.
REAL = {
    "adult": (48842, 14, "<=50K"),
    "mushroom": (8124, 22, "p"),
    "nursery": (12960, 8, "recommend"),
    "tic-tac-toe": (958, 9, "positive"),
    "monks-1": (124 + 432, 6, "1"),
    "monks-2": (169 + 432, 6, "0"),
    "monks-3": (122 + 432, 6, "1"),
    "letter": (20000, 16, "T"),
    "covtype-20k": (20000, 54, 5),
    "abalone": (4177, 8, 15),
    "winequality": (6497, 12, 5),
}


@pytest.fixture
def folder(tmp_path):
    """Made-up files, one of them gzipped."""
    for name, text in MADE_UP.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    path = tmp_path / "abalone" / "abalone.data"
    path.with_name("abalone.data.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return tmp_path


def test_real_files_have_the_published_sizes(real_data):
    assert set(REAL) == set(UCI_NAMES)
    for name, (rows, columns, first) in REAL.items():
        X, y = load_uci(name, real_data)
        assert (X.shape, len(y), y.iloc[0]) == ((rows, columns), rows, first), name


def test_parts_of_the_real_adults(real_data):
    (X, y), (X_test, y_test) = (load_uci("adult", real_data, part=part) for part in ("train", "test"))
    assert (len(X), len(X_test)) == (32561, 16281)
    assert y.value_counts().to_dict() == {"<=50K": 24720, ">50K": 7841}
    assert y_test.value_counts().to_dict() == {"<=50K": 12435, ">50K": 3846}
    assert int(X.isna().sum().sum()) == 4262 and int(X_test.isna().sum().sum()) == 2203
    assert X.dtypes.equals(X_test.dtypes)


@pytest.mark.parametrize(("name", "rows"), [("abalone", 1), ("letter", 1), ("nursery", 1), ("winequality", 3)])
def test_made_up_files(folder, name, rows):
    X, y = load_uci(name, str(folder))
    assert len(X) == len(y) == rows


def test_words_are_categories_and_numbers_are_numbers(folder):
    X, y = load_uci("adult", folder)
    assert isinstance(X["workclass"].dtype, pd.CategoricalDtype) and X["age"].dtype == int
    assert X["workclass"].isna().tolist() == [False, True, False]
    assert y.tolist() == ["<=50K", ">50K", ">50K"]


def test_parts_know_one_another_s_categories(folder):
    (X, _), (X_test, _) = (load_uci("adult", folder, part=part) for part in ("train", "test"))
    assert (len(X), len(X_test)) == (2, 1)
    assert list(X["native-country"].cat.categories) == list(X_test["native-country"].cat.categories) == ["Cuba", "Peru"]


def test_codes_of_the_monks_are_words_and_their_numbers_are_left_out(folder):
    X, y = load_uci("monks-1", folder)
    assert X.shape == (3, 6) and y.tolist() == ["1", "0", "1"]
    assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes)


def test_an_unknown_mushroom_cell_is_missing(folder):
    assert load_uci("mushroom", folder)[0].isna().sum().to_dict()["stalk-root"] == 1


def test_covertype_is_cut_at_20_000_rows(folder):
    assert load_uci("covtype-20k", folder)[0].shape == (20_000, 54)


def test_an_absent_file_is_named(folder):
    with pytest.raises(FileNotFoundError) as caught:
        load_uci("monks-2", folder)
    assert caught.value.filename == str(folder / "monks" / "monks-2.train")


@pytest.mark.parametrize(
    ("name", "part", "message"),
    [
        ("iris", "all", "name must be one of adult, .*, got 'iris'"),
        ("letter", "tail", "part must be 'all', 'train' or 'test', got 'tail'"),
        (
            "letter",
            "test",
            "part must be 'all' for 'letter', got 'test'; test rows of their own have only adult, monks-1",
        ),
    ],
)
def test_wrong_words_are_named(folder, name, part, message):
    with pytest.raises(InvalidInputError, match=message):
        load_uci(name, folder, part=part)


def test_missing_pandas_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r'pip install "jaxtree\[frames\]"'):
        load_uci("letter", folder)
