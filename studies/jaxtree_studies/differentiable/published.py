"""Published macro F1 of GradTree's tables (Marton et al., AAAI 2024) and of GRANDE's ablations (ICLR 2024).

Of GradTree they are means of ten trials, kept in the authors' repository s-marton/GradTree; CART is scikit-learn's.
Of GRANDE they are means over 19 tables of 5 folds, as the paper prints them.
"""

from typing import NamedTuple


class Published(NamedTuple):
    """Scores of one table.

    Attributes:
        gradtree: GradTree, tuned.
        cart: CART, tuned.
        gradtree_default: GradTree with its default parameters.
        cart_default: CART with its default parameters.
    """

    gradtree: float
    cart: float
    gradtree_default: float
    cart_default: float


SINGLE = {
    "Blood Transfusion": Published(0.628, 0.613, 0.627, 0.573),
    "Banknote Authentication": Published(0.987, 0.981, 0.979, 0.981),
    "Echocardiogram": Published(0.658, 0.554, 0.647, 0.558),
    "Wisconsin Diagnostic Breast Cancer": Published(0.903, 0.886, 0.901, 0.903),
    "Heart Failure": Published(0.749, 0.774, 0.744, 0.755),
    "Heart Disease": Published(0.778, 0.715, 0.735, 0.670),
    "Adult": Published(0.743, 0.770, 0.748, 0.772),
    "Bank Marketing": Published(0.639, 0.608, 0.626, 0.615),
    "Congressional Voting": Published(0.950, 0.932, 0.952, 0.932),
    "Absenteeism": Published(0.625, 0.564, 0.620, 0.580),
    "Hepatitis": Published(0.607, 0.622, 0.608, 0.609),
    "German": Published(0.591, 0.589, 0.583, 0.594),
    "Mushroom": Published(0.999, 0.998, 0.996, 0.999),
    "Credit Card": Published(0.674, 0.682, 0.676, 0.678),
    "Horse Colic": Published(0.842, 0.785, 0.842, 0.758),
    "Thyroid": Published(0.905, 0.921, 0.871, 0.912),
    "Cervical Cancer": Published(0.520, 0.506, 0.496, 0.504),
    "Spambase": Published(0.902, 0.917, 0.892, 0.917),
    "Iris": Published(0.938, 0.937, 0.922, 0.936),
    "Balance Scale": Published(0.593, 0.574, 0.565, 0.580),
    "Car": Published(0.439, 0.489, 0.407, 0.571),
    "Glass": Published(0.560, 0.662, 0.481, 0.667),
    "Contraceptive": Published(0.496, 0.383, 0.397, 0.450),
    "Solar Flare": Published(0.151, 0.157, 0.152, 0.179),
    "Wine": Published(0.933, 0.906, 0.861, 0.906),
    "Zoo": Published(0.874, 0.943, 0.839, 0.943),
    "Lymphography": Published(0.609, 0.547, 0.463, 0.606),
    "Segment": Published(0.941, 0.963, 0.918, 0.950),
    "Dermatology": Published(0.930, 0.956, 0.902, 0.950),
    "Landsat": Published(0.807, 0.835, 0.770, 0.835),
    "Annealing": Published(0.638, 0.866, 0.495, 0.872),
    "Splice": Published(0.872, 0.880, 0.747, 0.877),
}
"""By the title of the table."""

ABLATIONS = {"softsign": 0.807, "entmoid": 0.799, "sigmoid": 0.796, "by_leaf": 0.807, "by_tree": 0.786}
"""Of GRANDE: the slope of its splits, with weights of leaves; and weights of leaves or trees, with softsigns."""

ENSEMBLES = {"Wisconsin Diagnostic Breast Cancer": 0.975, "Adult": 0.790}
"""Of GRANDE, of the tables at hand whose figures are at hand, too."""
