"""Writes models of installed versions of XGBoost, LightGBM and CatBoost into a folder, with rows and their scores.

`python tests/foreign/make_files.py FOLDER` in an environment with the version; nothing of jaxtree is needed.
"""

import base64
import json
import pathlib
import sys
import tempfile

import numpy as np
import pandas as pd

FEW = {"n_estimators": 4, "max_depth": 3, "random_state": 0}


def table():
    """Rows of numbers, of which some are missing, and of words."""
    draw = np.random.default_rng(0)
    numbers = np.round(draw.normal(size=(90, 3)), 3)
    numbers[:, 2] = draw.integers(0, 5, 90)
    numbers[::7, 0] = np.nan
    words = draw.choice(["blue", "green", "red"], 90)
    return numbers, words, np.nan_to_num(numbers[:, 0]) + 0.3 * numbers[:, 2] + (words == "red")


NUMBERS, WORDS, TARGET = table()
CLASSES = np.digitize(TARGET, [0.3, 1.2])
COUNTS = np.round(np.exp(TARGET / 2))
FRAME = pd.DataFrame({"size": NUMBERS[:, 0], "color": pd.Categorical(WORDS), "number": NUMBERS[:, 2]})
SHOWN = 30


def plain(values):
    """Numbers as JSON has them: one that is missing is null."""
    return [[None if value != value else value for value in row] for row in np.asarray(values, float).tolist()]


def frame_rows():
    """The shown rows of the frame."""
    return [[None if value != value else value for value in row] for row in FRAME.head(SHOWN).to_numpy(object).tolist()]


def of_xgboost():
    """Models of XGBoost."""
    import xgboost

    def described(model, rows, shown, form="json"):
        booster = model.get_booster()
        made = xgboost.DMatrix(rows, enable_categorical=True)
        kept = {"rows": shown, "scores": booster.predict(made, output_margin=True)[:SHOWN].tolist()}
        raw = bytes(booster.save_raw(form))
        return {**kept, "model": json.loads(raw) if form == "json" else base64.b64encode(raw).decode()}

    numbers = NUMBERS, plain(NUMBERS[:SHOWN])
    regressor, classifier = xgboost.XGBRegressor, xgboost.XGBClassifier
    yield "numbers", described(regressor(**FEW).fit(NUMBERS, TARGET), *numbers)
    yield "ubjson", described(regressor(**FEW).fit(NUMBERS, TARGET), *numbers, form="ubj")
    yield "base-score", described(regressor(**FEW, base_score=2.5).fit(NUMBERS, TARGET), *numbers)
    yield "two-classes", described(classifier(**FEW).fit(NUMBERS, CLASSES > 1), *numbers)
    yield "classes", described(classifier(**FEW).fit(NUMBERS, CLASSES), *numbers)
    yield "counts", described(regressor(**FEW, objective="count:poisson").fit(NUMBERS, COUNTS), *numbers)
    yield "dart", described(regressor(**FEW, booster="dart", rate_drop=0.5).fit(NUMBERS, TARGET), *numbers)
    words = regressor(**FEW, enable_categorical=True, tree_method="hist", max_cat_to_onehot=1).fit(FRAME, TARGET)
    codes = FRAME.head(SHOWN).assign(color=FRAME["color"].cat.codes)
    has_names = hasattr(words.get_booster(), "get_categories")
    yield "words", described(words, FRAME, frame_rows() if has_names else plain(codes))


def of_lightgbm():
    """Models of LightGBM."""
    import lightgbm

    few = {**FEW, "min_child_samples": 5, "min_data_per_group": 1, "cat_smooth": 1, "verbose": -1}

    def described(model, rows, shown):
        scores = model.predict(rows, raw_score=True)[:SHOWN].tolist()
        text = model.booster_.model_to_string().partition("\nparameters:")
        words = text[2].partition("pandas_categorical")
        return {"rows": shown, "scores": scores, "model": text[0] + "\n" + words[1] + words[2]}

    numbers = NUMBERS, plain(NUMBERS[:SHOWN])
    regressor, classifier = lightgbm.LGBMRegressor, lightgbm.LGBMClassifier
    yield "numbers", described(regressor(**few).fit(NUMBERS, TARGET), *numbers)
    yield "two-classes", described(classifier(**few).fit(NUMBERS, CLASSES > 1), *numbers)
    yield "classes", described(classifier(**few).fit(NUMBERS, CLASSES), *numbers)
    yield "counts", described(regressor(**few, objective="poisson").fit(NUMBERS, COUNTS), *numbers)
    yield "words", described(regressor(**few).fit(FRAME, TARGET), FRAME, frame_rows())


def of_catboost():
    """Models of CatBoost."""
    import catboost

    few = {"iterations": 4, "depth": 3, "verbose": 0, "allow_writing_files": False}

    def described(model, rows, shown, pool=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.json"
            model.save_model(str(path), format="json", pool=pool)
            content = json.loads(path.read_text())
        info = content["model_info"]
        content["model_info"] = {name: info[name] for name in ("params", "class_params") if name in info}
        scores = model.predict(rows, prediction_type="RawFormulaVal")[:SHOWN].tolist()
        return {"rows": shown, "scores": scores, "model": content}

    numbers = NUMBERS, plain(NUMBERS[:SHOWN])
    yield "numbers", described(catboost.CatBoostRegressor(**few).fit(NUMBERS, TARGET), *numbers)
    yield "classes", described(catboost.CatBoostClassifier(**few).fit(NUMBERS, CLASSES), *numbers)
    frame = FRAME.assign(color=WORDS)
    pool = catboost.Pool(frame, TARGET, cat_features=["color"])
    words = catboost.CatBoostRegressor(**few, one_hot_max_size=10, cat_features=["color"]).fit(frame, TARGET)
    yield "words", described(words, frame, frame_rows(), pool)


def main(folder):
    """Writes the models of all libraries that are installed."""
    for library, models in (("xgboost", of_xgboost), ("lightgbm", of_lightgbm), ("catboost", of_catboost)):
        try:
            version = __import__(library).__version__
        except ImportError:
            continue
        for name, content in models():
            path = pathlib.Path(folder) / f"{library}-{version}-{name}.json"
            path.write_text(json.dumps(content, separators=(",", ":")) + "\n")
            print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1])
