"""Evaluations of refti.from_callable against those of nested sampling, at the same error.

Problems with proper priors whose evidence is known. For each seed refti runs to its target error,
and often gets well below it; dynesty (static, its own choice of bounds and sampler) runs with as
many live points as the target error needs. Both count calls of the likelihood. z is the distance
from the truth in reported errors. The first ratio is of the calls as they were; the second at equal
errors, since the calls of nested sampling grow as 1 / error^2.

    python -m benchmarks.blackbox [--seeds 2] [--error 0.25] [--large]
    python -m benchmarks.blackbox --replicates 30

--large adds two problems of ten parameters, for which dynesty takes an hour. --replicates runs
refti alone, under many seeds, to see whether its errors are right, and on two bananas.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Any

import dynesty
import numpy as np
from scipy import special, stats

import refti
from refti import suite


@dataclass(frozen=True)
class Problem:
    """A likelihood, a prior as nested sampling and as refti want it, and the truth."""

    name: str
    dim: int
    log_likelihood: Callable[[np.ndarray], float]
    log_prior: Callable[[np.ndarray], float]
    transform: Callable[[np.ndarray], np.ndarray]
    parameters: dict[str, Any] | None  # of a vector if None
    log_z: float


def regression(dim: int) -> Problem:
    """A straight-line fit of `dim` coefficients with normal priors and known noise."""
    rng = np.random.default_rng(dim)
    design, noise, width = rng.normal(size=(40, dim)), 0.7, 3.0
    y = design @ rng.normal(size=dim) + noise * rng.normal(size=40)
    covariance = width**2 * design @ design.T + noise**2 * np.eye(40)
    log_z = float(stats.multivariate_normal(np.zeros(40), covariance).logpdf(y))

    def log_likelihood(x: np.ndarray) -> float:
        residual = (y - design @ x) / noise
        return float(-0.5 * residual @ residual - 40 * log(noise) - 20 * log(2 * pi))

    def log_prior(x: np.ndarray) -> float:
        return float(-0.5 * x @ x / width**2 - dim * (log(width) + 0.5 * log(2 * pi)))

    def transform(u: np.ndarray) -> np.ndarray:
        return width * special.ndtri(u)

    return Problem(f"regression {dim}", dim, log_likelihood, log_prior, transform, None, log_z)


def skewed(dim: int) -> Problem:
    """Poisson counts with log rates, uniform priors wide enough to hold all of the posterior."""
    counts = np.random.default_rng(dim).integers(2, 12, size=dim).astype(float)
    low, high = -12.0, 6.0
    tails = special.gammainc(counts, np.exp(high)) - special.gammainc(counts, np.exp(low))
    log_z = float(np.sum(np.log(tails) - np.log(counts)) - dim * log(high - low))

    def log_likelihood(theta: np.ndarray) -> float:
        return float(np.sum(counts * theta - np.exp(theta)) - np.sum(special.gammaln(counts + 1)))

    def log_prior(theta: np.ndarray) -> float:
        return -dim * log(high - low)

    def transform(u: np.ndarray) -> np.ndarray:
        return low + (high - low) * u

    supports = {"theta": refti.interval(low, high, shape=(dim,))}
    return Problem(f"skewed {dim}", dim, log_likelihood, log_prior, transform, supports, log_z)


def unknown_noise() -> Problem:
    """A normal-inverse-gamma regression: three coefficients and the variance, truth closed form."""
    rng = np.random.default_rng(4)
    design = np.column_stack([np.ones(25), rng.normal(size=(25, 2))])
    y = design @ np.array([0.5, -1.0, 2.0]) + 0.8 * rng.normal(size=25)
    shape, rate, width = 3.0, 2.0, 2.0
    precision = design.T @ design + np.eye(3) / width**2
    mean = np.linalg.solve(precision, design.T @ y)
    late_shape, late_rate = shape + 12.5, rate + 0.5 * (y @ y - mean @ precision @ mean)
    log_z = (
        -12.5 * log(2 * pi)
        - 0.5 * np.linalg.slogdet(precision)[1]
        - 3 * log(width)
        + shape * log(rate)
        - late_shape * log(late_rate)
        + lgamma(late_shape)
        - lgamma(shape)
    )

    # b holds the coefficients in units of the noise's deviation, whose prior is then plain.
    def log_likelihood(x: np.ndarray) -> float:
        if abs(x[3]) > 300:
            return -np.inf
        b, variance = x[:3] * np.exp(0.5 * x[3]), np.exp(x[3])
        residual = y - design @ b
        return float(-0.5 * residual @ residual / variance - 12.5 * log(2 * pi) - 12.5 * x[3])

    def log_prior(x: np.ndarray) -> float:
        if abs(x[3]) > 300:
            return -np.inf
        beta = -0.5 * x[:3] @ x[:3] / width**2 - 3 * (log(width) + 0.5 * log(2 * pi))
        noise = shape * log(rate) - lgamma(shape) - shape * x[3] - rate * np.exp(-x[3])
        return float(beta + noise)

    def transform(u: np.ndarray) -> np.ndarray:
        variance = stats.invgamma(shape, scale=rate).ppf(u[3])
        return np.append(width * special.ndtri(u[:3]), np.log(variance))

    return Problem("unknown noise 4", 4, log_likelihood, log_prior, transform, None, float(log_z))


PROBLEMS = (regression(3), unknown_noise(), skewed(5))
LARGE = (regression(10), skewed(10))


def ours(problem: Problem, error: float, seed: int) -> tuple[int, float, float]:
    """Calls of the likelihood, log z and its error."""
    calls = [0]

    def counted(x: np.ndarray) -> float:
        calls[0] += 1
        return problem.log_likelihood(x)

    vector = {"dim": problem.dim} if problem.parameters is None else {}

    def likelihood(values: dict[str, np.ndarray]) -> float:
        return counted(values["theta"])

    def prior(values: dict[str, np.ndarray]) -> float:
        return problem.log_prior(values["theta"])

    model = refti.from_callable(
        parameters=problem.parameters,
        log_prior=problem.log_prior if vector else prior,
        log_likelihood=counted if vector else likelihood,
        processes=1,
        **vector,
    )
    result = refti.evidence(model, target_error=error, seed=seed, check_prior=False, progress=False)
    if not result.trusted:
        print(f"  {problem.name}, seed {seed}: not trusted")
    return calls[0], result.log_z, result.error


def theirs(problem: Problem, error: float, seed: int) -> tuple[int, float, float]:
    """The same of nested sampling, with the live points that this error takes."""
    trial = _nested(problem, 100, seed + 1000)
    live = max(50, int(np.ceil(100 * (trial.logzerr[-1] / error) ** 2)))
    result = _nested(problem, live, seed)
    return int(np.sum(result.ncall)), float(result.logz[-1]), float(result.logzerr[-1])


def _nested(problem: Problem, live: int, seed: int) -> dynesty.results.Results:
    sampler = dynesty.NestedSampler(
        problem.log_likelihood,
        problem.transform,
        problem.dim,
        nlive=live,
        rstate=np.random.default_rng(seed),
    )
    sampler.run_nested(print_progress=False)
    return sampler.results


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--error", type=float, default=0.25)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--replicates", type=int)
    asked = parser.parse_args()
    if asked.replicates:
        _replicate(asked.replicates)
        return
    print(
        f"{'problem':16} {'ours':>8} {'error':>6} {'z':>15} {'dynesty':>9} {'error':>6} "
        f"{'z':>15} {'ratio':>6} {'at one error':>12}"
    )
    for problem in PROBLEMS + (LARGE if asked.large else ()):
        mine = np.array([ours(problem, asked.error, seed) for seed in range(asked.seeds)])
        other = np.array([theirs(problem, asked.error, seed) for seed in range(asked.seeds)])
        print(_row(problem, mine, other), flush=True)


def _replicate(seeds: int) -> None:
    """Prints the mean and the variance of z over seeds, and what two bananas take."""
    for problem in (unknown_noise(), skewed(5)):
        runs = np.array([ours(problem, 0.1, seed) for seed in range(seeds)])
        z = (runs[:, 1] - problem.log_z) / runs[:, 2]
        mean = f"{z.mean():+.2f} ± {z.std(ddof=1) / seeds**0.5:.2f}"
        found = f"mean z {mean}, variance {z.var(ddof=1):.2f}"
        print(f"{problem.name}: {seeds} seeds, {found}", flush=True)
    for dim, most in ((2, 100_000), (10, 400_000)):
        target = suite.banana(dim)
        model = refti.from_callable(_banana(dim), dim=dim, processes=1)
        result = refti.evidence(model, seed=1, max_evaluations=most, progress=False)
        z = (result.log_z - target.log_z) / result.error
        calls = result.cost.density_evaluations
        print(f"{target.name}: {calls:,} calls, z {z:+.1f}, {result.verdict.shown}", flush=True)


def _banana(dim: int) -> Callable[[np.ndarray], float]:
    """The density of refti.suite.banana in NumPy."""
    pairs = dim // 2
    scale, width = np.linspace(2.0, 1.0, pairs), np.linspace(0.6, 0.9, pairs)
    curvature = np.linspace(0.3, 0.6, pairs)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(dim, dim)))[0]

    def log_density(x: np.ndarray) -> float:
        a, b = np.split(turn @ x, 2)
        off = b - curvature * (a**2 - scale**2)
        return float(-0.5 * np.sum(((a - 0.5) / scale) ** 2 + (off / width) ** 2))

    return log_density


def _row(problem: Problem, mine: np.ndarray, other: np.ndarray) -> str:
    cells = []
    for runs in (mine, other):
        z = (runs[:, 1] - problem.log_z) / runs[:, 2]
        distances = " ".join(f"{value:+.1f}" for value in z)
        cells.append(f"{np.median(runs[:, 0]):>8.0f} {np.median(runs[:, 2]):>6.3f} {distances:>15}")
    ratio = np.median(mine[:, 0]) / np.median(other[:, 0])
    errors = np.median(mine[:, 2]) / np.median(other[:, 2])
    return f"{problem.name:16} {cells[0]} {cells[1]} {ratio:>6.3f} {ratio * errors**2:>12.4f}"


if __name__ == "__main__":
    main()
