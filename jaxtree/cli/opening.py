"""Model files that commands read: those of `jaxtree fit`, and models of XGBoost, LightGBM and CatBoost.

The beginning of a file tells which library wrote it.
"""

import os
import re
from typing import Any

import jaxtree

_BEGINNING = 64
"""Bytes that tell the form of a file."""

_OF_XGBOOST = re.compile(rb'\s*\{\s*"(learner|version)"')
"""The first name in JSON of XGBoost."""


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
    is_binary = beginning.startswith(b"{L") and b"learner" in beginning
    if is_binary or _OF_XGBOOST.match(beginning):
        return jaxtree.from_xgboost(path)
    # The length with which a file of jaxtree begins may look like a bracket, and has zeros behind it.
    is_json = beginning.lstrip().startswith(b"{") and b"\0" not in beginning
    return jaxtree.from_catboost(path) if is_json else jaxtree.load(path)
