"""A table becomes integer codes, and codes become values again."""

from jaxtree.table.binning import Bins as Bins
from jaxtree.table.encoder import Encoder as Encoder
from jaxtree.table.schema import Column as Column
from jaxtree.table.schema import Feature as Feature
from jaxtree.table.schema import Schema as Schema
from jaxtree.table.sources import Source as Source
from jaxtree.table.sources import is_source as is_source
from jaxtree.table.sources import open_source as open_source
from jaxtree.table.summary import Summary as Summary
from jaxtree.table.summary import merge_summaries as merge_summaries
from jaxtree.table.summary import sample_rows as sample_rows
from jaxtree.table.target import ClassTarget as ClassTarget
from jaxtree.table.target import NumberTarget as NumberTarget
from jaxtree.table.target import check_sample_weight as check_sample_weight
from jaxtree.table.target import class_weights as class_weights
from jaxtree.table.target import encode_classes as encode_classes
from jaxtree.table.target import encode_numbers as encode_numbers
from jaxtree.table.times import TimeScale as TimeScale
