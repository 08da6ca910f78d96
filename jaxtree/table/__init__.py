"""A table becomes integer codes, and codes become words again."""

from jaxtree.table.binning import Bins as Bins
from jaxtree.table.binning import round_down_to_float32 as round_down_to_float32
from jaxtree.table.binning import sample_rows as sample_rows
from jaxtree.table.encoder import Encoder as Encoder
from jaxtree.table.schema import Column as Column
from jaxtree.table.schema import Feature as Feature
from jaxtree.table.schema import Schema as Schema
from jaxtree.table.target import check_same_length as check_same_length
from jaxtree.table.target import encode_target as encode_target
