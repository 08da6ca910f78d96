"""Search over settings of a tree: grow once, score every setting."""
