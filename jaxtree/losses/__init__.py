"""Losses of raw scores, which boosting fits trees to; users find them in `jaxtree.boosting`."""
