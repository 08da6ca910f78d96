"""The space of parameters that TabArena draws settings from; the first setting is the library's defaults."""

from autogluon.common.space import Categorical, Int, Real

from benchmarks.tabarena.submission.model import JaxtreeModel
from tabarena.utils.config_utils import ConfigGenerator

SPACE = {
    "learning_rate": Real(0.02, 0.2, default=0.1, log=True),
    "max_leaf_nodes": Int(4, 64, default=16),
    "min_samples_leaf": Int(1, 30, default=3),
    "reg_lambda": Real(0.1, 20.0, default=1.0, log=True),
    "subsample": Real(0.5, 1.0, default=0.8),
    "colsample_bynode": Real(0.4, 1.0, default=1.0),
    "random_strength": Categorical(0.0, 3.0, 6.0, 12.0),
    "max_bins": Categorical(255, 63, 1023),
    "categorical_splits": Categorical("auto", "ordered", "one_vs_rest"),
}

gen_jaxtree = ConfigGenerator(model_cls=JaxtreeModel, search_space=SPACE, manual_configs=[{}])
