"""Model files that commands read: those of `jaxtree fit`, and models of XGBoost, LightGBM and CatBoost.

Libraries are told apart by the beginning of a file, and by the parts of its JSON.
"""

import os
from typing import Any

import jaxtree
from jaxtree.errors import ModelFileError

_BEGINNING = 64
"""Bytes that tell the form of a file."""


def open_model(path: str | os.PathLike) -> Any:
    """Returns the fitted estimator in a file.

    Args:
        path: A file of jaxtree; JSON or UBJSON of XGBoost; text of LightGBM; or JSON of CatBoost.

    Raises:
        ModelFileError: The file is damaged, or of another form.
        InvalidInputError: It has a model that jaxtree cannot have.
        OSError: It cannot be read.
    """
    if not os.path.isfile(path):  # a pipe is refused there, and not read twice
        return jaxtree.load(path)
    with open(path, "rb") as opened:
        beginning = opened.read(_BEGINNING)
    if beginning.split(b"\n")[0].rstrip(b"\r") == b"tree":
        return jaxtree.from_lightgbm(path)
    if beginning.startswith(b"{L") and b"learner" in beginning:
        return jaxtree.from_xgboost(path)
    # The length with which a file of jaxtree begins may look like a bracket, and has zeros behind it.
    if b"\0" in beginning or not beginning.lstrip().startswith(b"{"):
        return jaxtree.load(path)
    return _of_json(path)


def _of_json(path: str | os.PathLike) -> Any:
    from jaxtree.files.kept import loading  # with NumPy, which help does without
    from jaxtree.foreign.reading import parse_object, read_bytes

    with loading(path):
        content = parse_object(read_bytes(path))
        if "learner" in content:
            return jaxtree.from_xgboost(content)
        if "features_info" in content:
            return jaxtree.from_catboost(content)
        raise ModelFileError("it is JSON that is no model of XGBoost and none of CatBoost")
