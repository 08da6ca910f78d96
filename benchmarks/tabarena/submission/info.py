"""The entry of the model in TabArena's registry: class, space, and the facts of its results."""

from benchmarks.tabarena.submission.hpo import gen_jaxtree
from benchmarks.tabarena.submission.model import JaxtreeModel
from tabarena.models._method_metadata import MethodMetadata
from tabarena.models._model_info import ModelInfo

jaxtree_method_metadata = MethodMetadata.config(
    method="Jaxtree",
    ag_key=JaxtreeModel.ag_key,
    config_default="Jaxtree_c1_BAG_L1",
    compute="cpu",
    is_bag=True,
    can_hpo=True,
    display_name="jaxtree",
)

jaxtree_info = ModelInfo(
    model_cls=JaxtreeModel,
    search_space=gen_jaxtree,
    method_metadata=jaxtree_method_metadata,
    pip_extra=("jaxtree",),
)
