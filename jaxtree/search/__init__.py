"""Searches over settings of trees, forests and boosted trees: all settings of a fold in one growth or program."""
