"""Whether error bars are right: z-scores over many seeds on targets with a known evidence.

`make calibration` runs 100 seeds on each target with the paper's budget and prints, for each
estimator, the mean and the standard deviation of z and the coverage of the 95 % interval.
"""

from __future__ import annotations

import argparse

import numpy as np

import refti
from benchmarks.targets import skewed
from refti.reproduce import radiata

ESTIMATORS = ("mbar", "ti", "stepping_stone", "stepping_stone_reverse")


def z_scores(model: refti.Model, exact: float, seeds: int) -> np.ndarray:
    """(estimate - exact) / error, [seed, estimator], and progress a dot a seed."""
    rows = []
    for seed in range(seeds):
        result = refti.evidence(model, ladder=refti.uniform(11), seed=seed, progress=False)
        estimates = [result.estimates[name] for name in ESTIMATORS]
        rows.append([(e.value - exact) / e.error for e in estimates] + [float(result.trusted)])
        print(".", end="", flush=True)
    print()
    return np.array(rows)


def main() -> None:
    """Prints the calibration of every target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    targets = {
        "radiata, density (3-D)": (radiata.density(), radiata.EXACT_LOG_Z["density"]),
        "skewed, correlated log-gamma (20-D)": skewed(20),
    }
    for name, (model, exact) in targets.items():
        print(name)
        scores = z_scores(model, exact, seeds)
        print(f"  trusted: {int(scores[:, -1].sum())} of {seeds}")
        for column, estimator in enumerate(ESTIMATORS):
            z = scores[:, column]
            covered = np.mean(np.abs(z) < 1.96)
            print(
                f"  {estimator:24s} mean z {z.mean():+.2f} ± {z.std() / seeds**0.5:.2f}   "
                f"sd z {z.std(ddof=1):.2f}   95 % covers {100 * covered:.0f} %"
            )


if __name__ == "__main__":
    main()
