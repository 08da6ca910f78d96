"""A table becomes integer codes, and codes become values again."""

from jaxtree.table.binning import Bins as Bins
from jaxtree.table.encoder import Encoder as Encoder
from jaxtree.table.schema import Column as Column
from jaxtree.table.schema import Feature as Feature
from jaxtree.table.schema import Schema as Schema
from jaxtree.table.sources import Source as Source
from jaxtree.table.sources import open_source as open_source
from jaxtree.table.times import TimeScale as TimeScale
