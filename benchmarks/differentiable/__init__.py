"""Trees trained by gradients: a study beside published figures, many runs at once, and trees inside loops."""
