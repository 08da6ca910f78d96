"""Fitted models from files, and tables for them."""

from pathlib import Path
from typing import Any

from jaxtree.cli.columns import features_like, num_unseen
from jaxtree.cli.files import Contents, Reading, read_contents
from jaxtree.cli.session import Session
from jaxtree.cli.wording import in_short


def load_model(path: Path) -> Any:
    """Returns the estimator in a model file."""
    import jaxtree

    return jaxtree.load(path)


def read_features(session: Session, estimator: Any, data: str, how: Reading) -> tuple[Any, Contents]:
    """Returns the features of a fitted estimator from a file, with their types in fit; and all of the file."""
    contents = read_contents(data, how)
    columns = estimator.schema_.columns
    X = features_like(contents, columns, are_named=hasattr(estimator, "feature_names_in_"))
    for name, (number, word) in num_unseen(X, columns).items():
        session.note(
            f"{in_short(name)}: {number} rows have a word that the fit has not seen, such as {in_short(repr(word))}; "
            "it counts as missing"
        )
    return X, contents
