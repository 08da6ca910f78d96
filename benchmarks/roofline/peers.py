"""Published times of other libraries beside the prediction; a comparison is missing where none was found."""

from typing import NamedTuple


class Figure(NamedTuple):
    """A published figure.

    Attributes:
        workload: The workload that it is nearest to, by its short name.
        task: What was done; no task is quite that of the workload.
        library: Whose time it is.
        device: What it was measured on.
        seconds: The time.
        source: Where it stands.
    """

    workload: str
    task: str
    library: str
    device: str
    seconds: str
    source: str


GBM_PERF = "S. Pafka, GBM-perf, README at commit 007265e, https://github.com/szilard/GBM-perf"
OWN = "`notebooks/benchmarks.md`, and the file of `benchmarks/results/` that it names"
AIRLINE = "100 trees of depth 10 on {rows} rows of the airlines' table, 8 columns before words become columns"
CPU = "two cores of an x86-64 machine"

PUBLISHED = (
    Figure("tree", "the same tree from codes; raw floats are binned before", "jaxtree", CPU, "0.10", OWN),
    Figure("tree", "the same", "XGBoost, `hist`", CPU, "0.11", OWN),
    Figure("tree", "the same", "LightGBM", CPU, "0.17", OWN),
    Figure("boosting", "the same from raw floats", "jaxtree", CPU, "5.4", OWN),
    Figure("boosting", "the same from raw floats", "LightGBM", CPU, "6.8", OWN),
    Figure("boosting", "the same from raw floats", "XGBoost, `hist`", CPU, "7.1", OWN),
    Figure("boosting", AIRLINE.format(rows="1,000,000"), "XGBoost, `gpu_hist`, 2018-06", "V100", "8", GBM_PERF),
    Figure("boosting", AIRLINE.format(rows="1,000,000"), "LightGBM, GPU, 2018-06", "V100", "13", GBM_PERF),
    Figure("boosting", AIRLINE.format(rows="10,000,000"), "XGBoost, `gpu_hist`, 2018-06", "V100", "25", GBM_PERF),
    Figure("boosting", AIRLINE.format(rows="10,000,000"), "LightGBM, GPU, 2018-06", "V100", "55", GBM_PERF),
    Figure(
        "boosting",
        "200 rounds of depth 8 on 400,000 rows x 30",
        "XGBoost 2.1.4, `hist` on CUDA",
        "not said",
        "3.32",
        "DestinE Data Lake gallery, XGBoost GPU training, "
        "https://destination-earth.github.io/DestinE-DataLake-Gallery/xgboost-gpu-demo",
    ),
    Figure("search", "the same, 200 settings x 8 folds", "jaxtree", CPU, "13", OWN),
    Figure("search", "the same, scaled from 40 settings", "LightGBM, in a loop", CPU, "62", OWN),
)
"""Figures for which a source was at hand. None was for forests of cuML, predictions of FIL and Hummingbird, and bartz:
their pages give speeds beside a CPU, such as "up to 200x relative to a single CPU core" (Petrillo, arXiv:2410.23244),
and no time of a task like these."""
