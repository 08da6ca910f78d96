"""What a caller gives growth: arrays, limits, rules and objectives; their checks, and their whole numbers."""
