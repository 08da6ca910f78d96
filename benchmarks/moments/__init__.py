"""Forests of moments beside EconML, causalml, quantile-forest and scikit-survival: errors, seconds, memory."""
