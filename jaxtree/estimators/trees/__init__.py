"""Single trees: CART, Quinlan's, optimal ones, and copies pruned after the fit."""
