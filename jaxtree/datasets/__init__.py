"""Small data sets that need no download, and readers of files from the UCI repository."""

from jaxtree.datasets.small import load_car_evaluation as load_car_evaluation
from jaxtree.datasets.small import load_contact_lenses as load_contact_lenses
from jaxtree.datasets.small import load_play_tennis as load_play_tennis
from jaxtree.datasets.small import load_watermelon as load_watermelon
from jaxtree.datasets.uci import load_uci as load_uci
from jaxtree.notebook import lister

__dir__ = lister(__name__)
