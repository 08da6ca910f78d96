"""Forests that solve a moment equation at every row: local solutions, their variances, and moments of one's own."""
