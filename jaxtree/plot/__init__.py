"""Drawings by Matplotlib of trees, predictions, explanations and searches; each takes `ax=` and returns the axes."""

from jaxtree.notebook import lister
from jaxtree.plot.columns import plot_decision_boundary as plot_decision_boundary
from jaxtree.plot.columns import plot_dependence as plot_dependence
from jaxtree.plot.columns import plot_importances as plot_importances
from jaxtree.plot.comparisons import plot_comparison as plot_comparison
from jaxtree.plot.effects import plot_effect_groups as plot_effect_groups
from jaxtree.plot.effects import plot_effects as plot_effects
from jaxtree.plot.effects import plot_overlap as plot_overlap
from jaxtree.plot.effects import plot_targeting_curve as plot_targeting_curve
from jaxtree.plot.prunings import plot_dropout as plot_dropout
from jaxtree.plot.prunings import plot_pruning_path as plot_pruning_path
from jaxtree.plot.quality import plot_calibration as plot_calibration
from jaxtree.plot.quality import plot_intervals as plot_intervals
from jaxtree.plot.quality import plot_roc as plot_roc
from jaxtree.plot.quality import plot_survival as plot_survival
from jaxtree.plot.searches import plot_accuracy_by_leaves as plot_accuracy_by_leaves
from jaxtree.plot.searches import plot_ensemble_weights as plot_ensemble_weights
from jaxtree.plot.searches import plot_learning_curve as plot_learning_curve
from jaxtree.plot.searches import plot_parameter_importances as plot_parameter_importances
from jaxtree.plot.searches import plot_search_curves as plot_search_curves
from jaxtree.plot.searches import plot_search_scatter as plot_search_scatter
from jaxtree.plot.shap import plot_shap_bar as plot_shap_bar
from jaxtree.plot.shap import plot_shap_beeswarm as plot_shap_beeswarm
from jaxtree.plot.shap import plot_shap_waterfall as plot_shap_waterfall
from jaxtree.plot.terms import plot_term_importances as plot_term_importances
from jaxtree.plot.terms import plot_terms as plot_terms
from jaxtree.plot.trees import plot_tree as plot_tree

__dir__ = lister(__name__)
