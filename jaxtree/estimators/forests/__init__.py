"""Forests: many trees of one table."""
