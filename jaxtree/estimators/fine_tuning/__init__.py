"""Fitted models whose thresholds and leaves are trained together by gradients."""
