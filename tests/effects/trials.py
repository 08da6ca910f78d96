"""Small simulated trials, whose effects and nuisances are known."""

from typing import NamedTuple

import numpy as np


class Trial(NamedTuple):
    """An observational study of one feature; the outcomes of both treatments are kept for all rows."""

    x: np.ndarray
    effect: np.ndarray
    y: np.ndarray
    treatment: np.ndarray
    y_hat: np.ndarray
    treatment_hat: np.ndarray

    @property
    def arguments(self):
        return self.effect, self.y, self.treatment, self.y_hat, self.treatment_hat


def draw_trial(number, generator, *, narrow=0.3):
    """Draws rows: x is uniform on [-1, 1], the effect 1 + x, the chance 1/2 + narrow x, the baseline x squared."""
    x = generator.uniform(-1, 1, number)
    effect, chance = 1 + x, 0.5 + narrow * x
    treatment = (generator.random(number) < chance) * 1.0
    y = x**2 + effect * treatment + generator.normal(size=number)
    return Trial(x, effect, y, treatment, x**2 + effect * chance, chance)
