"""Small models that learn from large ones: labels of a teacher, more rows for it to label, and what a size loses."""
