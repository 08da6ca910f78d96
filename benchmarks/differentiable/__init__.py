"""Trees trained by gradients: many runs at once, and trees inside loops (the study is one of `jaxtree study`)."""
