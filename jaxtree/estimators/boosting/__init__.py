"""Boosted trees: classes, numbers, ranks and distributions."""
