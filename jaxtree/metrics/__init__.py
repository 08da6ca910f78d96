"""Metrics that scikit-learn lacks: of survival times, and of the order of rows within groups."""

from jaxtree.metrics.ranking import mean_average_precision as mean_average_precision
from jaxtree.metrics.ranking import mean_reciprocal_rank as mean_reciprocal_rank
from jaxtree.metrics.ranking import ndcg as ndcg
from jaxtree.metrics.scorers import scorer as scorer
from jaxtree.metrics.survival import KaplanMeier as KaplanMeier
from jaxtree.metrics.survival import concordance_index as concordance_index
from jaxtree.metrics.survival import concordance_index_ipcw as concordance_index_ipcw
from jaxtree.metrics.survival import integrated_brier_score as integrated_brier_score
from jaxtree.metrics.survival import survival_brier_score as survival_brier_score
