"""Optimal trees: the best of all trees of a small depth, by sums over pairs of thresholds."""
