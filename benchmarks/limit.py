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

TARGETS = ("log_gamma", "skewed_20", "quartic_20", "quartic_60", "skewed_100")


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


# Dense where the spread of delta falls fastest.
FRACTIONS = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 200)])


def length_of(lambdas: np.ndarray, delta: np.ndarray) -> float:
    """The integral over lambda of the standard deviation of delta[rung, chain, draw].

    Between two rungs it is that of the draws of either, reweighted, the nearer counting more.
    """
    flat = delta.reshape(len(delta), -1)
    total = 0.0
    for low, high, below, above in zip(lambdas, lambdas[1:], flat, flat[1:], strict=False):
        from_below, from_above = (
            np.array([_spread(rung, (high - low) * (fraction - at)) for fraction in FRACTIONS])
            for rung, at in ((below, 0.0), (above, 1.0))
        )
        spread = (1 - FRACTIONS) * from_below + FRACTIONS * from_above
        total += (high - low) * float(np.trapezoid(spread, FRACTIONS))
    return total


def _spread(delta: np.ndarray, away: float) -> float:
    """The standard deviation of delta under the weights exp(away * delta)."""
    logs = away * delta
    weights = np.exp(logs - logs.max())
    middle = np.average(delta, weights=weights)
    return float(np.sqrt(np.average((delta - middle) ** 2, weights=weights)))


def measure(name: str, error: float, seed: int) -> Reached:
    """One run of a target of the suite."""
    found = refti.evidence(
        suite.find(name).model(), target_error=error, seed=seed, check_prior=False, progress=False
    )
    (leg,) = found.draws
    cost = found.cost
    evaluations = cost.gradient_evaluations + cost.density_evaluations
    length = length_of(leg.lambdas, leg.delta)
    return Reached(name, leg.rungs, leg.delta.size, evaluations, length, found.error)


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
