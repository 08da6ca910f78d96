"""Fitted estimators in files and back: no code is kept, none is executed."""
