"""Additive models beside interpret, LightGBM with two leaves and pygam: scores, seconds and memory."""
