"""Whitening by draws and their scores together: the gradients of the log density at the draws.

Of a normal density with covariance S the scores have the covariance S^-1 and are -S^-1 times the
draws, so the S with cov(draws) = S cov(scores) S is right however few the draws are, as long as
there are as many as dimensions. The covariance of the draws alone is noise in some directions
until there are tens of them for each dimension. Of other densities it is a middle way between the
spread of the draws and the curvature that limits the steps.
"""

from __future__ import annotations

import numpy as np

from refti.sampling.tuning import TUNING
from refti.sampling.whitening import Whitening, whitening


def wants_scores(dim: int) -> bool:
    """Whether the scores are worth their evaluations: where draws are few for the dimension."""
    return TUNING.scores_from <= dim <= TUNING.scores_up_to


def refit_by_scores(
    current: Whitening, x: np.ndarray, scores: np.ndarray, *, on_separate_modes: bool = False
) -> Whitening | None:
    """The whitening of draws x[chain, draw, dim] and the scores there; None if there is none.

    In current coordinates both covariances should be the identity, which counts as a draw more.
    Where the chains are known to sit apart, what spreads within each of them counts.
    """
    location, factor = np.asarray(current.location), np.asarray(current.factor)
    dim = x.shape[-1]
    u = np.linalg.solve(factor, (x - location).reshape(-1, dim).T).T
    centre = u.mean(axis=0)
    by_chain = u.reshape(x.shape)
    middle = by_chain.mean(axis=1, keepdims=True) if on_separate_modes else centre
    deviation = (by_chain - middle).reshape(-1, dim)
    slopes = scores.reshape(-1, dim) @ factor
    covariances = [_with_identity(of) for of in (deviation, slopes - slopes.mean(axis=0))]
    if not all(np.isfinite(one).all() for one in covariances):
        return None
    try:
        inner = np.linalg.cholesky(between(*covariances))
    except np.linalg.LinAlgError:  # scores beyond all measure, such as beside an edge
        return None
    return whitening(location + factor @ centre, factor @ inner)


def between(covariance: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """The S with covariance = S precision S: the geometric mean of it and the inverse precision."""
    sizes, directions = np.linalg.eigh(precision)
    root, inverse = (directions * sizes**power @ directions.T for power in (0.5, -0.5))
    sizes, directions = np.linalg.eigh(root @ covariance @ root)
    middle = directions * np.sqrt(np.maximum(sizes, 0.0)) @ directions.T
    found = inverse @ middle @ inverse
    return 0.5 * (found + found.T)


def _with_identity(rows: np.ndarray) -> np.ndarray:
    """The mean square of rows[n, dim], the identity counted as a row more."""
    return (rows.T @ rows + np.eye(rows.shape[1])) / (len(rows) + 1)
