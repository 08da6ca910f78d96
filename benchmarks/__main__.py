"""`python -m benchmarks`: the benchmark suite, and with `--user-tables` its part on tables of ordinary size."""

import sys

from benchmarks.suite.command import main as run_suite
from benchmarks.user_tables.command import SWITCH
from benchmarks.user_tables.command import main as run_user_tables

if __name__ == "__main__":
    arguments = sys.argv[1:]
    if SWITCH in arguments:
        run_user_tables([argument for argument in arguments if argument != SWITCH])
    else:
        run_suite(arguments)
