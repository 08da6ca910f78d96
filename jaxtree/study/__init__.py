"""The experiment of Zhu and Zhou (2023) on dropout pruning, end to end."""
