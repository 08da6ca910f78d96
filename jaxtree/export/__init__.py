"""Trees in other forms."""
