"""Forests of moment equations: effects of treatments, instruments, quantiles, survival, and moments of one's own."""
