"""The inputs of growth: arrays, limits, rules and objectives; their checks, and their whole numbers."""
