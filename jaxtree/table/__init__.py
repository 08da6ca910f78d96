"""A table becomes integer codes, and codes become words again."""

from jaxtree.table.binning import MAX_EXACT_ROWS as MAX_EXACT_ROWS
from jaxtree.table.binning import Bins as Bins
from jaxtree.table.binning import round_down_to_float32 as round_down_to_float32
from jaxtree.table.encoder import Encoder as Encoder
from jaxtree.table.sampling import sample_rows as sample_rows
from jaxtree.table.schema import Column as Column
from jaxtree.table.schema import Feature as Feature
from jaxtree.table.schema import Schema as Schema
from jaxtree.table.source import Source as Source
from jaxtree.table.source import is_source as is_source
from jaxtree.table.source import open_source as open_source
from jaxtree.table.summary import Summary as Summary
from jaxtree.table.summary import merge_summaries as merge_summaries
from jaxtree.table.target import ClassTarget as ClassTarget
from jaxtree.table.target import NumberTarget as NumberTarget
from jaxtree.table.target import check_same_length as check_same_length
from jaxtree.table.target import encode_classes as encode_classes
from jaxtree.table.target import encode_numbers as encode_numbers
from jaxtree.table.times import TimeScale as TimeScale
from jaxtree.table.weights import check_sample_weight as check_sample_weight
from jaxtree.table.weights import class_weights as class_weights
