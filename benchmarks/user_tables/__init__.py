"""Fits of tables of ordinary size as users make them, the first of a process included, beside scikit-learn."""
