"""GRANDE (Marton et al., ICLR 2024) by its authors' package, in a process of another Python.

The package needs versions of TensorFlow and scikit-learn of its own, so that it has an environment of Python 3.11:

    pip install tensorflow-cpu==2.16.1 category-encoders==2.6.1 scikit-learn==1.3.2 pandas
    pip install --no-deps grande==0.1.6 focal-loss==0.0.7
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from jaxtyping import Int

WORKER = Path(__file__).with_name("peer_worker.py")
MOST_SECONDS = 3600


class NoPeerError(Exception):
    """The peer has no result.

    Attributes:
        is_of_fit: Whether the fit failed, and not the environment.
    """

    def __init__(self, reason: str, *, is_of_fit: bool):
        super().__init__(reason)
        self.is_of_fit = is_of_fit


def fit_grande(
    python: Path,
    X: pandas.DataFrame,
    y: Int[np.ndarray, " row"],
    division: tuple[np.ndarray, np.ndarray, np.ndarray],
    *,
    trees: int,
    seed: int,
) -> dict[str, Any]:
    """Returns the report of a fit by GRANDE.

    Args:
        python: The Python of the environment.
        X: The columns, those of words as categories.
        y: Codes of classes.
        division: The rows to fit, to compare epochs, and to predict.
        trees: The number of trees.
        seed: The seed.

    Returns:
        `shares` of the classes for each row to predict; `seconds`, `cpu_seconds` and `epochs` of the fit; `version`.

    Raises:
        NoPeerError: The environment has no GRANDE, or the fit failed or took more than an hour.
    """
    words = [place for place, kind in enumerate(X.dtypes) if isinstance(kind, pandas.CategoricalDtype)]
    handed = {
        "columns": [X[column].astype(object).where(X[column].notna(), None).tolist() for column in X],
        "words": words,
        "y": y.tolist(),
        "division": [rows.tolist() for rows in division],
        "trees": trees,
        "seed": seed,
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "fit.json"
        place.write_text(json.dumps(handed))
        # Isolated, so that neither the files beside the worker nor our packages hide those of the environment.
        command = [os.fspath(python), "-I", os.fspath(WORKER), os.fspath(place)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        except OSError as error:
            raise NoPeerError(f"{python} does not run: {error.strerror}", is_of_fit=False) from error
        except subprocess.TimeoutExpired as error:
            raise NoPeerError(f"more than {MOST_SECONDS} seconds", is_of_fit=True) from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NoPeerError(reason[:200], is_of_fit=False)
    reported = json.loads(done.stdout.strip().splitlines()[-1])
    if "failed" in reported:
        raise NoPeerError(reported["failed"], is_of_fit=True)
    return reported
