"""Additive models: a curve a column and surfaces of pairs, boosted on Gram sums without reading rows."""
