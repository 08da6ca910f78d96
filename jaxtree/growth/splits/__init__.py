"""The best split of every node of a level: thresholds, subsets, drawn ones, all features or a few."""
