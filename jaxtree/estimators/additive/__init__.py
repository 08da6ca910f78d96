"""Estimators of additive models."""
