"""The tables that textbooks on decision trees work through by hand."""

from typing import Any

from jaxtree.datasets.bunch import Table, deliver
from jaxtree.errors import InvalidInputError

_PLAY_TENNIS = """
    sunny    hot  high   FALSE no
    sunny    hot  high   TRUE  no
    overcast hot  high   FALSE yes
    rainy    mild high   FALSE yes
    rainy    cool normal FALSE yes
    rainy    cool normal TRUE  no
    overcast cool normal TRUE  yes
    sunny    mild high   FALSE no
    sunny    cool normal FALSE yes
    rainy    mild normal FALSE yes
    sunny    mild normal TRUE  yes
    overcast mild high   TRUE  yes
    overcast hot  normal FALSE yes
    rainy    mild high   TRUE  no
"""
_TEMPERATURE = [85.0, 80, 83, 70, 68, 65, 64, 72, 69, 75, 75, 72, 81, 71]
_HUMIDITY = [85.0, 90, 86, 96, 80, 70, 65, 95, 70, 80, 70, 90, 75, 91]

# Age slowest, then prescription, astigmatism and tears: all 24 patients there can be.
_CONTACT_LENSES = """
    young          myope        no  reduced none
    young          myope        no  normal  soft
    young          myope        yes reduced none
    young          myope        yes normal  hard
    young          hypermetrope no  reduced none
    young          hypermetrope no  normal  soft
    young          hypermetrope yes reduced none
    young          hypermetrope yes normal  hard
    pre-presbyopic myope        no  reduced none
    pre-presbyopic myope        no  normal  soft
    pre-presbyopic myope        yes reduced none
    pre-presbyopic myope        yes normal  hard
    pre-presbyopic hypermetrope no  reduced none
    pre-presbyopic hypermetrope no  normal  soft
    pre-presbyopic hypermetrope yes reduced none
    pre-presbyopic hypermetrope yes normal  none
    presbyopic     myope        no  reduced none
    presbyopic     myope        no  normal  none
    presbyopic     myope        yes reduced none
    presbyopic     myope        yes normal  hard
    presbyopic     hypermetrope no  reduced none
    presbyopic     hypermetrope no  normal  soft
    presbyopic     hypermetrope yes reduced none
    presbyopic     hypermetrope yes normal  none
"""

_WATERMELON = """
    green curled   dull    clear  sunken   smooth yes
    black curled   muffled clear  sunken   smooth yes
    black curled   dull    clear  sunken   smooth yes
    green curled   muffled clear  sunken   smooth yes
    white curled   dull    clear  sunken   smooth yes
    green slightly dull    clear  slightly soft   yes
    black slightly dull    blurry slightly soft   yes
    black slightly dull    clear  slightly smooth yes
    black slightly muffled blurry slightly smooth no
    green stiff    crisp   clear  flat     soft   no
    white stiff    crisp   fuzzy  flat     smooth no
    white curled   dull    fuzzy  flat     soft   no
    green slightly dull    blurry sunken   smooth no
    white slightly muffled blurry sunken   smooth no
    black slightly dull    clear  slightly soft   no
    white curled   dull    fuzzy  flat     smooth no
    green curled   muffled blurry slightly smooth no
"""
_WATERMELON_COLUMNS = ["color", "root", "knock", "texture", "navel", "touch"]
_DENSITY = [0.697, 0.774, 0.634, 0.608, 0.556, 0.403, 0.481, 0.437]
_DENSITY += [0.666, 0.243, 0.245, 0.343, 0.639, 0.657, 0.360, 0.593, 0.719]
_SUGAR = [0.460, 0.376, 0.264, 0.318, 0.215, 0.237, 0.149, 0.211]
_SUGAR += [0.091, 0.267, 0.057, 0.099, 0.161, 0.198, 0.370, 0.042, 0.103]

# Version 2.0-alpha: the column that is blank in each row, rows counted from 1 as the book does.
_WATERMELON_BLANKS = {
    1: "color",
    2: "touch",
    3: "knock",
    5: "color",
    6: "navel",
    8: "texture",
    9: "root",
    10: "texture",
    11: "touch",
    12: "knock",
    13: "color",
    15: "navel",
    17: "root",
}
_WATERMELON_VERSIONS = ("2.0", "3.0", "2.0-alpha")


def load_play_tennis(*, return_X_y: bool = False, as_frame: bool = False, numeric: bool = False) -> Any:
    """Returns 14 Saturday mornings and whether tennis was played (Quinlan, 1986, table 1).

    The words are those of Weka's `weather.nominal` file.

    Args:
        return_X_y: return the pair `(data, target)` instead of a `Bunch`.
        as_frame: pandas objects instead of NumPy arrays.
        numeric: temperature in degrees Fahrenheit and humidity in percent, as floats (Quinlan, *C4.5*, 1993).

    Returns:
        A `sklearn.utils.Bunch` of `data`, `target`, `frame`, `feature_names`, `target_names`, `DESCR`; or the pair.

    Example:
        >>> from jaxtree.datasets import load_play_tennis
        >>> tennis = load_play_tennis(numeric=True)
        >>> tennis.feature_names
        ['outlook', 'temperature', 'humidity', 'windy']
        >>> print(*tennis.data[0], "->", tennis.target[0])
        sunny 85.0 85.0 FALSE -> no
    """
    rows = _read(_PLAY_TENNIS)
    if numeric:
        measured = zip(rows, map(float, _TEMPERATURE), map(float, _HUMIDITY), strict=True)
        rows = [(row[0], temperature, humidity, *row[3:]) for row, temperature, humidity in measured]
    description = (
        "Play tennis: 14 rows, 4 attributes, classes yes 9 and no 5.\n\n"
        'Source: J. R. Quinlan, "Induction of decision trees", Machine Learning 1, 81-106, 1986; with numbers: '
        "C4.5: Programs for Machine Learning, Morgan Kaufmann, 1993."
    )
    columns = ["outlook", "temperature", "humidity", "windy", "play"]
    return deliver(Table(rows, columns, ["yes", "no"], description), return_X_y=return_X_y, as_frame=as_frame)


def load_contact_lenses(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Returns the 24 kinds of patients and the contact lenses that suit them (Cendrowska, 1987).

    Args:
        return_X_y: return the pair `(data, target)` instead of a `Bunch`.
        as_frame: pandas objects instead of NumPy arrays.

    Returns:
        A `sklearn.utils.Bunch` of `data`, `target`, `frame`, `feature_names`, `target_names`, `DESCR`; or the pair.

    Example:
        >>> from jaxtree.datasets import load_contact_lenses
        >>> patients, lenses = load_contact_lenses(return_X_y=True)
        >>> print(*patients[3], "->", lenses[3])
        young myope yes normal -> hard
    """
    description = (
        "Contact lenses: 24 rows, all combinations of 4 attributes; classes soft 5, hard 4 and none 15.\n\n"
        'Source: J. Cendrowska, "PRISM: an algorithm for inducing modular rules", International Journal of Man-Machine '
        "Studies 27, 349-370, 1987. UCI Machine Learning Repository, Lenses, 1990, CC BY 4.0."
    )
    columns = ["age", "prescription", "astigmatism", "tears", "lenses"]
    table = Table(_read(_CONTACT_LENSES), columns, ["soft", "hard", "none"], description)
    return deliver(table, return_X_y=return_X_y, as_frame=as_frame)


def load_watermelon(version: str = "2.0", *, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Returns 17 watermelons and whether they are good (Z.-H. Zhou, *Machine Learning*, chapter 4).

    Args:
        version: "2.0" has six attributes in words; "3.0" adds density and sugar content as floats; "2.0-alpha" is 2.0
            with 13 values missing, which are None here.
        return_X_y: return the pair `(data, target)` instead of a `Bunch`.
        as_frame: pandas objects instead of NumPy arrays; blanks are then what pandas takes for missing.

    Returns:
        A `sklearn.utils.Bunch` of `data`, `target`, `frame`, `feature_names`, `target_names`, `DESCR`; or the pair.

    Raises:
        InvalidInputError: the version is none of the three.

    Example:
        >>> from jaxtree.datasets import load_watermelon
        >>> print(*load_watermelon("3.0").data[0])
        green curled dull clear sunken smooth 0.697 0.46
        >>> print(*load_watermelon("2.0-alpha").data[0])
        None curled dull clear sunken smooth
    """
    if version not in _WATERMELON_VERSIONS:
        allowed = ", ".join(map(repr, _WATERMELON_VERSIONS))
        raise InvalidInputError(f"version must be one of {allowed}, got {version!r}")
    rows, columns = _read(_WATERMELON), [*_WATERMELON_COLUMNS, "good"]
    if version == "3.0":
        measured = zip(rows, _DENSITY, _SUGAR, strict=True)
        rows = [(*row[:-1], density, sugar, row[-1]) for row, density, sugar in measured]
        columns = [*_WATERMELON_COLUMNS, "density", "sugar", "good"]
    elif version == "2.0-alpha":
        rows = [_blank(row, _WATERMELON_BLANKS.get(number)) for number, row in enumerate(rows, start=1)]
    description = (
        f"Watermelon {version}: 17 rows, {len(columns) - 1} attributes, classes yes 8 and no 9.\n\n"
        "Source: Z.-H. Zhou, Machine Learning, Springer, 2021, chapter 4."
    )
    return deliver(Table(rows, columns, ["yes", "no"], description), return_X_y=return_X_y, as_frame=as_frame)


def _read(text: str) -> list[tuple]:
    return [tuple(line.split()) for line in text.strip().splitlines()]


def _blank(row: tuple, blank_column: str | None) -> tuple:
    names = [*_WATERMELON_COLUMNS, "good"]
    return tuple(None if name == blank_column else value for name, value in zip(names, row, strict=True))
