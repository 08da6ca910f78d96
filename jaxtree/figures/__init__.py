"""Numbers of charts: what `plot` draws and `page` sends is computed here once, with the same rows, values and weights.

Functions take rows that are encoded and judged already, and return NumPy's arrays; they know neither axes nor colours.
"""
