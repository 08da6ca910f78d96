"""hessboost behind AutoGluon's interface of models: the parameters of AutoGluon's XGBoost, whose names it takes."""

from typing import Any, ClassVar

import pandas
from autogluon.common.space import Int, Real
from autogluon.core.models import AbstractModel

from tabarena.utils.config_utils import ConfigGenerator

PATIENCE = 50


class HessboostModel(AbstractModel):
    """Gradient boosting of hessboost, ended by the fold that is held out."""

    ag_key = "HESS"
    ag_name = "hessboost"
    seed_name = "random_state"
    _supported_problem_types: ClassVar = ["binary", "multiclass", "regression"]
    _default_auxiliary_params_extra: ClassVar = {"valid_raw_types": ["int", "float", "category"]}

    def _set_default_params(self) -> None:
        for name, value in {"n_estimators": 10_000, "learning_rate": 0.1}.items():
            self._set_default_param_value(name, value)

    def _fit(
        self,
        X: pandas.DataFrame,
        y: pandas.Series,
        X_val: pandas.DataFrame,
        y_val: pandas.Series,
        num_cpus: int = 1,
        **_: Any,
    ) -> None:
        from hessboost.sklearn import HessboostClassifier, HessboostRegressor

        kind = HessboostRegressor if self.problem_type == "regression" else HessboostClassifier
        X = self.preprocess(X, is_train=True)
        self.model = kind(**self._get_model_params(), n_jobs=num_cpus, early_stopping_rounds=PATIENCE)
        self.model.fit(X, y, eval_set=[(self.preprocess(X_val), y_val)])


SPACE = {
    "learning_rate": Real(5e-3, 0.1, default=0.1, log=True),
    "max_depth": Int(4, 10, default=6),
    "min_child_weight": Real(1e-3, 5.0, default=1.0, log=True),
    "subsample": Real(0.6, 1.0, default=1.0),
    "reg_lambda": Real(1e-4, 5.0, default=1.0),
}

gen_hessboost = ConfigGenerator(model_cls=HessboostModel, search_space=SPACE, manual_configs=[{}])
