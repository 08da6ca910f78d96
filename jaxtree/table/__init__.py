"""A table becomes integer codes, and codes become values again."""

from jaxtree.table.encoder import Encoder as Encoder
from jaxtree.table.sources import open_source as open_source
