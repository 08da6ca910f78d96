"""The rules of cyclic boosting: how large steps are, how they may divide bins, and in which order terms come."""

from typing import NamedTuple


class StepRules(NamedTuple):
    """The rules of steps, in the units of the whole numbers that they are made of.

    Attributes:
        learning_rate: The part of a Newton step that is made.
        l2: Added to the second derivatives of a leaf.
        l1: Taken from the size of the gradient of a leaf.
        max_step: The greatest size of a leaf's step before the learning rate; infinite for any.
        min_rows: The least rows of a leaf.
        min_hessian: The least second derivatives of a leaf.
        smoothing: Added to the second derivatives of a category when categories are put in order.
        max_leaves: The most leaves of a step of one feature, 2 or more; 2 where it is monotone. Missing values are a
            further one.
        greedy_steps: After every pass through the terms, so many steps follow on the terms that gain most.
    """

    learning_rate: float
    l2: float = 0.0
    l1: float = 0.0
    max_step: float = float("inf")
    min_rows: int = 1
    min_hessian: float = 0.0
    smoothing: float = 0.0
    max_leaves: int = 3
    greedy_steps: int = 0
