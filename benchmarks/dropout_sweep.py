"""The sweep of the dropout paper's figure 4: 60 settings x 1,000 draws, scored on test and training rows.

    python benchmarks/dropout_sweep.py

The peer is the direct method: one mask per draw, and every row sent down the tree.
"""

import statistics
import time

import jax
import numpy as np

import jaxtree

P, Q = np.arange(6)[:, None] * 0.05, np.arange(1, 11) / 10
NUM_DRAWS = 1000


def main():
    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, binary=True)
    estimator = jaxtree.ID3Classifier(encoding="onehot").fit(X[:1296], y[:1296])
    label = np.searchsorted(estimator.classes_.astype(str), y.astype(str)).astype(np.int32)
    parts = [(estimator.encode(X[rows]), label[rows]) for rows in (slice(1296, None), slice(1296))]
    key = jax.random.key(0)

    def sweep():
        start = time.perf_counter()
        for codes, labels in parts:
            rates = jaxtree.dropout.node_rates(estimator.tree_, P, Q)
            draws = jaxtree.dropout.sampled_accuracy(
                estimator.tree_, codes, labels, rates, key=key, num_draws=NUM_DRAWS
            )
            jax.block_until_ready(draws)
        return time.perf_counter() - start

    times = [sweep() for _ in range(12)]
    print(f"{P.size * Q.size} settings x {NUM_DRAWS} draws, test and training rows")
    print(f"cold {times[0]:.3f} s, warm {statistics.median(times[1:]):.3f} s (fastest {min(times[1:]):.3f} s)")

    codes, labels = parts[0]
    majority = jaxtree.growth.majority_class(estimator.tree_)
    start = time.perf_counter()
    num_routed = 50
    for draw in range(num_routed):
        rates = jaxtree.dropout.node_rates(estimator.tree_, 0.1, 0.5)
        mask = jaxtree.prune.dropout(estimator.tree_, rates, key=jax.random.fold_in(key, draw))
        _ = (majority[np.asarray(jaxtree.growth.apply(estimator.tree_, codes, mask))] == labels).mean()
    each = (time.perf_counter() - start) / num_routed
    total = each * 2 * P.size * Q.size * NUM_DRAWS
    print(
        f"routing every row for every draw: {1000 * each:.1f} ms a draw, so {total:.0f} s for the sweep (extrapolated)"
    )


if __name__ == "__main__":
    main()
