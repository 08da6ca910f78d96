"""Whether gradients pay: single trees, ensembles, boosted trees trained further, and peers."""
