"""A machine's report: its devices, kernel and kept programs, and whether its trees are the same everywhere."""

from jaxtree.doctor.checking import check_machine as check_machine
from jaxtree.doctor.report import Compared as Compared
from jaxtree.doctor.report import DeviceFacts as DeviceFacts
from jaxtree.doctor.report import FitPlace as FitPlace
from jaxtree.doctor.report import Machine as Machine
from jaxtree.doctor.report import ProgramsKept as ProgramsKept
from jaxtree.doctor.report import Report as Report
from jaxtree.doctor.report import describe as describe
from jaxtree.doctor.report import to_text as to_text
from jaxtree.notebook import lister

__dir__ = lister(__name__)
