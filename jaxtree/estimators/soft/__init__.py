"""Soft trees, trained by gradients, and those hardened from them."""
