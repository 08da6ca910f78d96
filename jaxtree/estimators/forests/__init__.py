"""Forests with scikit-learn's conventions."""
