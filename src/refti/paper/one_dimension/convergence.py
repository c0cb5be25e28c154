"""Convergence: how the estimate of z settles as draws come in."""

from __future__ import annotations

import numpy as np

from refti.paper.recipe import integrate_spline


def running_means(delta: np.ndarray) -> np.ndarray:
    """The mean of delta [rung, chain, draw] over all chains up to each draw, [rung, draw]."""
    return np.cumsum(delta.mean(axis=1), axis=1) / np.arange(1, delta.shape[2] + 1)


def running_evidence(z_ref: float, lambdas: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """The estimate of z from the draws of every chain up to each draw."""
    return np.asarray(z_ref * np.exp(integrate_spline(lambdas, running_means(delta))))


def iterations_to_stay(running: np.ndarray, exact: float, band: float, chains: int) -> float:
    """The iterations a rung, of all chains together, from which on an estimate stays in a band.

    The band is relative and about the exact value; infinity where the last estimate is outside.
    """
    outside = np.flatnonzero(np.abs(running / exact - 1) > band)
    first = 0 if len(outside) == 0 else int(outside[-1]) + 1
    return float("inf") if first == len(running) else float(chains * (first + 1))
