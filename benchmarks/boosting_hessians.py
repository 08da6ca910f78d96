"""Boosting of several classes with whole Hessians and with their diagonals: rounds and CPU seconds to a loss.

    pip install '.[bench,frames]'
    python benchmarks/boosting_hessians.py --data FOLDER [--tables covtype-20k letter] [--rates 0.1 0.2] [--seeds 0]

A fifth of the rows tests, and a tenth of the others decides when to stop. Real tables are not part of the repository.
"""

import argparse
import json
import os
import time
from datetime import date
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

import jaxtree
from benchmarks.boosting import read_table

MOST_ROUNDS = 1500


def losses(name: str, data: Path, hessian: str, rate: float, seed: int, patience: int) -> dict[str, float | str]:
    """The least loss of the rows that decide, the round that has it, and the test loss then."""
    X, y = read_table(name, data)
    train, test = next(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    own, held = train_test_split(train, test_size=0.1, random_state=seed, stratify=y[train])
    ends = {"early_stopping": True, "n_iter_no_change": patience}
    model = jaxtree.GradientBoostingClassifier(MOST_ROUNDS, learning_rate=rate, hessian=hessian, **ends)
    start = time.process_time()
    model.fit(X.iloc[own], y[own], eval_set=[(X.iloc[rows], y[rows]) for rows in (held, test)])
    seconds = time.process_time() - start
    own_losses, test_losses = (next(iter(measured.values())) for measured in model.evals_result_.values())
    best = int(np.argmin(own_losses))
    return {
        "table": name, "hessian": hessian, "rate": rate, "seed": seed, "patience": patience,
        "validation": float(own_losses[best]), "rounds": best + 1, "test": float(test_losses[best]), "seconds": seconds,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the real tables")
    parser.add_argument("--tables", nargs="*", default=["covtype-20k", "letter"])
    parser.add_argument("--rates", nargs="*", type=float, default=[0.1, 0.2])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--patience", type=int, default=30)
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    runs = []
    for name in arguments.tables:
        for seed in arguments.seeds:
            for rate in arguments.rates:
                for hessian in ("diagonal", "full"):
                    runs.append(losses(name, arguments.data, hessian, rate, seed, arguments.patience))
                    print(json.dumps(runs[-1]), flush=True)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        report = {"date": date.today().isoformat(), "cores": os.cpu_count(), "runs": runs}
        (arguments.out / f"boosting-hessians-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
