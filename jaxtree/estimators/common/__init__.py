"""What estimators of all families share: parameters, prunings, rows, growth, predictions."""
