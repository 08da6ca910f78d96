"""Trees as parts of what is trained by gradients."""
