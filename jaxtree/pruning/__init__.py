"""Prunings: masks over a grown tree."""
