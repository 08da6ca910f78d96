"""Why a tree or forest predicts what it does."""

from jaxtree.explain.reasons import reason_codes as reason_codes
from jaxtree.explain.rows import explain_row as explain_row
from jaxtree.explain.shap import shap_interaction_values as shap_interaction_values
from jaxtree.explain.shap import shap_values as shap_values
from jaxtree.notebook import lister

__dir__ = lister(__name__)
