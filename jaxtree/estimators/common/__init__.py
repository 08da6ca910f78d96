"""The parts that estimators of all families share: parameters, prunings, rows, growth, predictions."""
