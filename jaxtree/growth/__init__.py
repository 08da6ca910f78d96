"""The engine: growth of trees, level by level."""
