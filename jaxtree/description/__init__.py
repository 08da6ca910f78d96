"""A table in numbers before any model: what its columns hold, how its target is spread, and what looks wrong.

Nothing here depends on the order of rows, nor on the library that holds them. A row of weight 0 is not there, and one
of weight 2 counts as two rows; warnings about single rows, such as identifiers, count rows.
"""

from jaxtree.description.describe import describe as describe
from jaxtree.description.description import DataDescription as DataDescription
