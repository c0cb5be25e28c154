"""How near runs come to the limit of their draws: no estimate along a path has less variance.

    python -m benchmarks.limit --error 0.02 --seeds 2

With n draws in all, along a path whose thermodynamic length is L, the least variance is L^2 / n.
The length is measured from the run's own draws. The share of the limit a draw is that variance
over the square of the claimed error, so correlated draws, and draws at rungs where they are worth
little, lower it. The share a gradient counts what the whole run evaluated instead of the draws.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

import refti
from refti import suite
from refti.draws.draws import Draws
from refti.paths.thermodynamic_length import measure_segment

TARGETS = ("log_gamma", "skewed_20", "quartic_20", "quartic_60", "skewed_100", "hierarchy_centred")


@dataclass(frozen=True)
class Reached:
    """What one run came to."""

    target: str
    rungs: int
    draws: int
    evaluations: int
    length: float
    error: float

    @property
    def a_draw(self) -> float:
        """The share of the limit that is reached with the draws there are."""
        return self.length**2 / self.draws / self.error**2

    @property
    def an_evaluation(self) -> float:
        """The same with an independent draw for every evaluation of the whole run."""
        return self.length**2 / self.evaluations / self.error**2


def length_of(draws: Draws) -> float:
    """The thermodynamic length of a leg, from neighbour to neighbour."""
    flat = draws.delta.reshape(draws.rungs, -1)
    widths = np.diff(draws.lambdas)
    return sum(
        measure_segment(width * low, width * high).length
        for width, low, high in zip(widths, flat[:-1], flat[1:], strict=True)
    )


def measure(name: str, error: float, seed: int) -> Reached:
    """One run of a target of the suite."""
    found = refti.evidence(
        suite.find(name).model(), target_error=error, seed=seed, check_prior=False, progress=False
    )
    (leg,) = found.draws
    cost = found.cost
    evaluations = cost.gradient_evaluations + cost.density_evaluations
    return Reached(name, leg.rungs, leg.delta.size, evaluations, length_of(leg), found.error)


def main() -> None:
    """Prints a row a target, the mean over its seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--error", type=float, default=0.02)
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    print("| target | rungs | draws | length | error | of the limit a draw | an evaluation |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for name in asked.targets:
        runs = [measure(name, asked.error, seed) for seed in range(asked.seeds)]
        draw, evaluation = (
            np.mean([getattr(run, kind) for run in runs]) for kind in ("a_draw", "an_evaluation")
        )
        rungs, draws, length, error = (
            np.mean([getattr(run, kind) for run in runs])
            for kind in ("rungs", "draws", "length", "error")
        )
        print(
            f"| {name} | {rungs:.1f} | {draws:,.0f} | {length:.2f} | {error:.4f} "
            f"| {draw:.0%} | {evaluation:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
