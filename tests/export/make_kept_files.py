"""Writes the files of the present format, once: `python -m tests.export.make_kept_files`. A kept file never changes."""

import json
import pathlib
import warnings

from jaxtree.export.model_file import FORMAT
from tests.export.keeping import fitted, said

FOLDER = pathlib.Path(__file__).parent / "kept"


def main():
    for name, estimator, X in fitted():
        path = FOLDER / f"format{FORMAT}_{name}.jaxtree"
        if path.exists():
            print(f"{path.name} is there, and stays as it is")
            continue
        estimator.save(path)
        predictions = {key: value.tolist() for key, value in said(estimator, X).items()}
        path.with_suffix(".json").write_text(json.dumps(predictions))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
