"""The kernel in C++, which grows trees on CPUs, and what it does with the rows of a boosting."""
