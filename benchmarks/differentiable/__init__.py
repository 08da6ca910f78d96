"""A study of trees trained by gradients: single trees, ensembles, and boosted trees trained further."""
