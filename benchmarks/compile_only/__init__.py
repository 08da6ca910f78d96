"""Programs compiled for devices that are not there: what a compiler refuses, and what it makes of the rest."""
