"""Covariances from draws: shrunk, in the coordinates and by the amount that predict draws best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refti.errors import ReferenceFitError
from refti.factors.either import solve_rows
from refti.tuning import tuned


@dataclass(frozen=True)
class ShrinkageTuning:
    """Numbers of the search for a covariance's shrinkage."""

    least_weight: float = tuned(
        -4,
        "log10 of the identity's least weight, which no draws are too "
        "few for to give a positive definite matrix",
    )
    largest_weight: float = tuned(4, "log10 of its largest weight, where it is all there is")
    weights: int = tuned(17, "that are tried, half a decade apart; a parabola finds those between")
    draws_a_block: int = tuned(50, "left out at a time where there are many draws")
    most_blocks_of_few: int = tuned(20, "where there are few draws, to keep the cost down")
    fewest_draws_a_block: int = tuned(5, "where there are few; chains' draws hang together")
    fewest_blocks: int = tuned(4, "however few draws there are")


TUNING = ShrinkageTuning()
# Weights of the target against the draws.
_WEIGHTS = 10.0 ** np.linspace(TUNING.least_weight, TUNING.largest_weight, TUNING.weights)


def shrunk_factor(draws: np.ndarray, *bases: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The mean of draws[n, dim] and the lower Cholesky factor of their shrunk covariance.

    With draws hardly more than dimensions the sampled covariance is far too narrow in some
    directions. It is mixed with a multiple of the identity, in one of several coordinate systems:
    those of a base, an invertible factor that should make the draws round, such as that of the
    Hessian at the mode; the same scaled to equal variances; or the coordinates themselves scaled
    so. System and weight are those under which blocks of draws left out are most probable, so a
    good base is believed, and a bad one costs nothing where draws are plentiful.
    """
    require_covariance(draws)
    mean = draws.mean(axis=0)
    return mean, best_shrinkage(draws - mean, *bases).factor(draws - mean)


@dataclass(frozen=True)
class Shrinkage:
    """Coordinates u = frame^-1 x, and the weight of the identity against the draws there.

    Attributes:
        frame: [dim, dim], or [dim] where it is diagonal.
        weight: that of the identity.
        score: the log probability of draws left out.
    """

    frame: np.ndarray
    weight: float
    score: float

    def factor(self, centred: np.ndarray) -> np.ndarray:
        """The lower Cholesky factor of the shrunk covariance of centred draws."""
        return out_of_frame(self.frame, self.inner_factor(into_frame(self.frame, centred)))

    def inner_factor(self, u: np.ndarray) -> np.ndarray:
        """The same in the frame's own coordinates, of centred draws in these."""
        dim = u.shape[1]
        covariance = u.T @ u / len(u)
        size = np.trace(covariance) / dim
        # The weight is that of so many draws more, whatever the number of draws.
        shrunk = (covariance + self.weight * size * np.eye(dim)) / (1 + self.weight)
        try:
            return np.linalg.cholesky(shrunk)
        except np.linalg.LinAlgError:  # beyond rounding: the target alone
            return np.sqrt(size) * np.eye(dim)


def best_shrinkage(centred: np.ndarray, *bases: np.ndarray | None) -> Shrinkage:
    """The coordinates and the weight under which left-out blocks of draws are most probable."""
    own = _spread(centred)
    # Scales taken of all draws know the block left out; so many numbers flatter so many nats.
    frames, known = [own], [len(own)]
    for base in bases:
        if base is None or base.shape != (len(own), len(own)) or not np.isfinite(base).all():
            continue
        whitened = _whiten(base, centred)
        if whitened is not None:
            scales = _spread(whitened)
            frames += [base * np.sqrt(np.mean(scales**2)), base * scales]
            known += [1, len(own)]
    blocks = _block_count(len(centred))
    candidates = [
        _best_weight(centred, frame, blocks, flattery)
        for frame, flattery in zip(frames, known, strict=True)
    ]
    return max(candidates, key=lambda candidate: candidate.score)


def into_frame(frame: np.ndarray, centred: np.ndarray) -> np.ndarray:
    """Centred draws in the coordinates of a frame."""
    if frame.ndim == 1:
        return centred / frame
    return solve_rows(frame, centred)


def out_of_frame(frame: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor whose draws have the factor `inner` in a frame's coordinates."""
    return make_lower(frame[:, None] * inner if frame.ndim == 1 else frame @ inner)


def make_lower(factor: np.ndarray) -> np.ndarray:
    """The lower triangular factor, its diagonal positive, with the same factor @ factor.T."""
    if not np.triu(factor, 1).any() and (np.diag(factor) > 0).all():
        return factor
    triangle: np.ndarray = np.linalg.qr(factor.T)[1].T
    return np.tril(triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0))


def require_covariance(draws: np.ndarray) -> None:
    """Raises ReferenceFitError if no covariance can be taken of draws[n, dim]."""
    if draws.ndim != 2 or not np.isfinite(draws).all():
        raise ReferenceFitError(
            "A reference is fitted to finite draws of shape (n, dim); got "
            f"{int(np.size(draws) - np.isfinite(draws).sum())} values that are not finite in "
            f"shape {draws.shape}. Check the sampler's draws."
        )
    varying = varying_coordinates(draws) if len(draws) else np.zeros(draws.shape[1], bool)
    if not np.all(varying):
        raise ReferenceFitError(
            f"A covariance needs draws that differ in every coordinate; got {len(draws)} draws, "
            f"{int(varying.sum())} of {len(varying)} coordinates varying."
        )


def varying_coordinates(draws: np.ndarray) -> np.ndarray:
    """Whether the draws differ, coordinate by coordinate, by numbers that have a square."""
    with np.errstate(over="ignore"):
        spread, width = draws.std(axis=0), np.ptp(draws, axis=0)
    # Squares of smaller or larger numbers than these are not 64-bit numbers any more. A constant
    # may have a spread by rounding, but no width.
    return (spread > 1e-150) & (spread < 1e150) & (width > 0)


def _best_weight(centred: np.ndarray, frame: np.ndarray, blocks: int, flattery: int) -> Shrinkage:
    """The weight of the identity in one frame by the likelihood of every block left out.

    The sum of all draws' squares is decomposed once; a block is then taken out of it again.
    """
    u = into_frame(frame, centred)
    count, dim = u.shape
    values, vectors = _decompose(u)
    rotated = u @ vectors
    values = np.maximum(values, 0.0)
    log_volume = np.log(frame).sum() if frame.ndim == 1 else np.linalg.slogdet(frame)[1]
    scores = -count * log_volume - flattery * _WEIGHTS / (1 + _WEIGHTS)
    weights = _WEIGHTS * count
    left_out = _by_rows if dim > count // blocks else _by_dimensions
    for rows in np.array_split(rotated, blocks):
        kept = count - len(rows)
        try:
            log_determinants, distances = left_out(rows, values, weights, kept, dim)
        except np.linalg.LinAlgError:
            return Shrinkage(frame, float(_WEIGHTS[-1]), -np.inf)
        log_determinants = log_determinants - dim * np.log(kept + weights)
        scores -= 0.5 * (len(rows) * log_determinants + (kept + weights) * distances)
    best = int(np.argmax(scores))
    return Shrinkage(frame, _between(scores, best), float(scores[best]))


def _by_dimensions(
    rows: np.ndarray, values: np.ndarray, weights: np.ndarray, kept: int, dim: int
) -> tuple[np.ndarray, np.ndarray]:
    """Of the squares of the draws kept, plus each weight: log determinants, and the rows' lengths.

    `values` are the squares of all draws along their principal axes, in which the rows are given;
    lengths are about the mean of the kept, squared, and summed over the rows.
    """
    shift = len(rows) / kept * rows.mean(axis=0)  # from the mean of the kept to that of all
    squares = np.diag(values) - rows.T @ rows - kept * np.outer(shift, shift)
    triangles = np.linalg.cholesky(squares + weights[:, None, None] * np.eye(dim))
    diagonals = np.diagonal(triangles, axis1=1, axis2=2)
    halves = np.linalg.solve(triangles, (rows + shift).T)
    return 2 * np.log(diagonals).sum(axis=1), np.sum(halves**2, axis=(1, 2))


def _by_rows(
    rows: np.ndarray, values: np.ndarray, weights: np.ndarray, kept: int, dim: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same where the rows are fewer than the dimensions.

    Taking as many rows (and one, for the mean that moves) out of the squares costs a small
    determinant. Directions that the draws do not span hold nothing of them but the weight.
    """
    size, missing = len(rows), dim - len(values)
    inverses = 1 / (values + weights[:, None])
    log_all = missing * np.log(weights) - np.log(inverses).sum(axis=1)
    moved = size / np.sqrt(kept) * rows.mean(axis=0)
    rows = np.concatenate([rows, moved[None]])
    selection = np.concatenate([np.eye(size), np.full((size, 1), kept**-0.5)], axis=1)
    remaining = np.eye(size + 1) - (rows * inverses[:, None]) @ rows.T
    triangles = np.linalg.cholesky(remaining)
    diagonals = np.diagonal(triangles, axis1=1, axis2=2)
    halves = np.linalg.solve(triangles, selection.T)
    distances = np.sum(halves**2, axis=(1, 2)) - np.sum(selection**2)
    return log_all + 2 * np.log(diagonals).sum(axis=1), distances


def _between(scores: np.ndarray, best: int) -> float:
    """The weight at the vertex of the parabola through the best score and its neighbours."""
    if not 0 < best < len(scores) - 1:
        return float(_WEIGHTS[best])
    before, here, after = scores[best - 1 : best + 2]
    bend = before - 2 * here + after
    step = 0.5 * (before - after) / bend if bend < 0 else 0.0
    return float(_WEIGHTS[best] * (_WEIGHTS[1] / _WEIGHTS[0]) ** step)


def _decompose(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of u.T @ u and its eigenvectors, by the smaller of the two products."""
    count, dim = u.shape
    if dim <= count:
        values, vectors = np.linalg.eigh(u.T @ u)
        return values, vectors
    values, left = np.linalg.eigh(u @ u.T)
    kept = values > 1e-12 * values[-1]
    return values[kept], u.T @ (left[:, kept] / np.sqrt(values[kept]))


def _block_count(count: int) -> int:
    """Blocks of at least 50 draws where there are many, and of several independent ones."""
    fewest = min(TUNING.fewest_blocks, count)
    most = min(max(TUNING.most_blocks_of_few, count // TUNING.draws_a_block), count)
    return int(np.clip(count / TUNING.fewest_draws_a_block, fewest, most))


def _spread(centred: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(centred**2, axis=0))


def _whiten(base: np.ndarray, centred: np.ndarray) -> np.ndarray | None:
    """Centred draws in the coordinates of a base, or None if it has no inverse to speak of."""
    try:
        u = into_frame(base, centred)
    except np.linalg.LinAlgError:
        return None
    usable = np.isfinite(u).all() and (_spread(u) > 0).all()
    return u if usable else None
