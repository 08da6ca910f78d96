"""Studies: whole experiments, from data to a page."""
