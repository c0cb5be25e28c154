"""Lanczos: the directions in which a curvature differs most from that of a sphere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from refti.search.large_tuning import LARGE as TUNING


def extreme_directions(
    multiply: Callable[[np.ndarray], np.ndarray], dim: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Sizes [k] and directions [dim, k] at both ends of a symmetric matrix, and that of the rest.

    Only those are given that have converged. The size of the rest is a geometric mean, by the
    quadrature that the iteration is.
    """
    steps = min(TUNING.lanczos_steps, dim)
    basis = np.zeros((steps + 1, dim))
    basis[0] = rng.normal(size=dim)
    basis[0] /= np.linalg.norm(basis[0])
    along, beside = np.zeros(steps), np.zeros(steps)
    made = steps
    for k in range(steps):
        v = multiply(basis[k])
        along[k] = v @ basis[k]
        for _ in range(2):  # once is not enough in rounding
            v = v - basis[: k + 1].T @ (basis[: k + 1] @ v)
        beside[k] = np.linalg.norm(v)
        if beside[k] < 1e-10 * np.abs(along[: k + 1]).max():
            made = k + 1
            break
        basis[k + 1] = v / beside[k]
    triangle = np.diag(along[:made]) + np.diag(beside[: made - 1], 1)
    triangle += np.diag(beside[: made - 1], -1)
    sizes, vectors = np.linalg.eigh(triangle)
    off = np.abs(beside[made - 1] * vectors[-1])
    kept = off < TUNING.converged * np.abs(sizes)
    weights = np.where(kept, 0.0, vectors[0] ** 2)
    if weights.sum() == 0 or not (sizes[~kept] > 0).all():
        weights, kept = vectors[0] ** 2, kept & (sizes > 0)
    rest = float(np.exp(np.sum(weights * np.log(np.abs(sizes) + 1e-300)) / weights.sum()))
    if (sizes <= 0).any():
        rest = float("nan")
        return sizes[kept], basis[:made].T @ vectors[:, kept], rest
    picks = np.flatnonzero(kept)
    picks = picks[np.argsort(-np.abs(np.log(sizes[picks] / rest)))][: TUNING.most_directions]
    return sizes[picks], basis[:made].T @ vectors[:, picks], rest
