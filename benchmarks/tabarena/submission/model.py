"""The model class: boosted trees of jaxtree behind AutoGluon's interface of models.

AutoGluon grows a bag of models, each without one of eight folds. Ours are all made by one program: with
`early_stopping="cv"` every model of a fold stops by its own fold, the fitted model is the mean of them, and it knows
predictions of every row by the model that has not seen it. So the class gives its own out-of-fold predictions, as
AutoGluon's random forest does. Where AutoGluon hands over validation rows, they end the rounds of one model.
"""

import time
from typing import Any, ClassVar

import numpy as np
import pandas
from autogluon.core.models import AbstractModel

NUM_FOLDS = 8
"""The folds of TabArena's bags."""
MARGIN = 0.95
"""The part of the time limit in which rounds are made; the rest is for the end of the fit."""
BYTES_OF_JAX = 600_000_000
"""The memory of a process that has imported everything and compiled the programs of a fit."""
BYTES_OF_A_CELL = 16
"""A cell as AutoGluon and as JAX have it, and as a code by column and by row."""
BYTES_OF_A_ROW, BYTES_OF_A_SCORE = 130, 80
"""A row in a model of a fold, and each of its scores there, with gradients and their whole numbers."""
WARM_ROWS, WARM_COLUMNS = 1200, 8


class JaxtreeModel(AbstractModel):
    """Gradient boosting of jaxtree."""

    ag_key = "JAXTREE"
    ag_name = "Jaxtree"
    seed_name = "random_state"
    default_resources_physical_cores_only = True
    _supported_problem_types: ClassVar = ["binary", "multiclass", "regression"]
    _default_auxiliary_params_extra: ClassVar = {"valid_raw_types": ["int", "float", "category"]}
    _default_ag_args_ensemble_extra: ClassVar = {"use_child_oof": True}

    def _set_default_params(self) -> None:
        """Leaves all but the number of folds to the library, whose defaults depend on the table."""
        self._set_default_param_value("cv", NUM_FOLDS)

    def _fit(
        self,
        X: pandas.DataFrame,
        y: pandas.Series,
        X_val: pandas.DataFrame | None = None,
        y_val: pandas.Series | None = None,
        time_limit: float | None = None,
        num_cpus: int = 1,
        sample_weight: np.ndarray | None = None,
        sample_weight_val: np.ndarray | None = None,
        **_: Any,
    ) -> None:
        """Grows models of folds, or with validation rows one that these end."""
        deadline = np.inf if time_limit is None else time.monotonic() + MARGIN * time_limit
        from jaxtree.cores import using_cores

        X = self.preprocess(X, is_train=True)
        parameters = self._get_model_params()
        with using_cores(num_cpus):
            if X_val is None:
                self.model = _kind(self.problem_type)(**parameters, early_stopping="cv")
                self.model.fit(X, y, sample_weight=sample_weight)
                return
            # One model stops as a model of a fold does.
            parameters = _as_of_a_fold(parameters, len(X), self.problem_type)
            self.model = _kind(self.problem_type)(**parameters, early_stopping=True)
            self.model.fit(
                X,
                y,
                sample_weight=sample_weight,
                X_val=self.preprocess(X_val),
                y_val=y_val,
                sample_weight_val=sample_weight_val,
                callbacks=[lambda number, measured: time.monotonic() > deadline],
            )

    def predict_proba_oof(self, X: pandas.DataFrame, **_: Any) -> np.ndarray:
        """Returns the predictions of the rows of the fit by the models that have not seen them."""
        return self._convert_proba_to_unified_form(self.model.oof_predictions_).astype(np.float32)

    def _more_tags(self) -> dict[str, bool]:
        return {"valid_oof": True, "can_refit_full": False}

    @classmethod
    def warmup(cls, *, problem_type: str | None = None, num_cpus: int | None = None, **_: Any) -> None:
        """Compiles the programs of small fits and predictions, on drawn numbers; no table is needed."""
        from jaxtree.cores import using_cores

        draws = np.random.default_rng(0)
        X = pandas.DataFrame(draws.normal(size=(WARM_ROWS, WARM_COLUMNS))).add_prefix("x")
        for kind in cls._supported_problem_types if problem_type is None else (problem_type,):
            y = _target_of(kind, X.to_numpy(), draws)
            with using_cores(num_cpus or -1):
                model = _kind(kind)(n_estimators=30, cv=NUM_FOLDS, early_stopping="cv", random_state=0).fit(X, y)
                model.predict(X)

    @classmethod
    def _estimate_memory_usage_static(
        cls,
        *,
        X: pandas.DataFrame,
        hyperparameters: dict[str, Any] | None = None,
        num_classes: int | None = 1,
        **_: Any,
    ) -> int:
        """Returns the peak of a fit in bytes, rather too much.

        200,000 rows of 20 columns and two classes took 736 MiB of the 954 that are estimated, and 100,000 of 10
        columns and five classes 761 of 992.
        """
        rows, columns = X.shape
        folds = (hyperparameters or {}).get("cv", NUM_FOLDS)
        models = folds if isinstance(folds, int) else NUM_FOLDS
        scores = num_classes if num_classes and num_classes > 2 else 1
        of_models = models * (BYTES_OF_A_ROW + scores * BYTES_OF_A_SCORE)
        return int(BYTES_OF_JAX + rows * (columns * BYTES_OF_A_CELL + of_models))


def _kind(problem_type: str) -> Any:
    """Returns the class of the estimator."""
    import jaxtree

    if problem_type == "regression":
        return jaxtree.GradientBoostingRegressor
    return jaxtree.GradientBoostingClassifier


def _as_of_a_fold(parameters: dict[str, Any], num_rows: int, problem_type: str) -> dict[str, Any]:
    """Returns the parameters of a model of a fold for one whose validation rows are given."""
    from jaxtree.estimators.boosting.parameters import usual_values

    usual = usual_values(num_rows, has_folds=True, of_classes=problem_type != "regression")
    return usual._asdict() | {name: own for name, own in parameters.items() if name != "cv"}


def _target_of(kind: str, X: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """Returns drawn targets that depend on the first column."""
    noisy = X[:, 0] + draws.normal(size=len(X))
    return noisy if kind == "regression" else np.digitize(noisy, [0] if kind == "binary" else [-0.7, 0.7])
