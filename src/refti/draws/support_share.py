"""SupportShare: how much of a leg's start density lies inside the support of its end density."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refti.draws import autocorrelation


@dataclass(frozen=True)
class SupportShare:
    """Points of the start density that were looked at, and how many lay inside.

    Attributes:
        inside: those at which the end density is positive and finite.
        drawn: all of them.
        not_a_number: those at which it was NaN or infinite rather than zero.
        log_error: the standard error of the share's logarithm.
        example: the first point at which it was not a number.
        infinite: those at which it was infinite.
    """

    inside: int
    drawn: int
    not_a_number: int
    log_error: float
    example: tuple[float, ...] | None = None
    infinite: int = 0

    @property
    def not_a_number_share(self) -> float:
        """The share of the draws at which it was NaN or infinite."""
        return self.not_a_number / max(self.drawn, 1)

    @property
    def log_share(self) -> float:
        """The log of the share, which belongs into log z."""
        return float(np.log(self.inside / self.drawn))


NONE_YET = SupportShare(0, 0, 0, float("inf"))


def count_points(so_far: SupportShare, x: np.ndarray, log_end: np.ndarray) -> SupportShare:
    """The share after more independent points x[n, dim] at which the end density is log_end[n]."""
    strange = np.isnan(log_end) | (log_end == np.inf)
    example = so_far.example
    if example is None and strange.any():
        example = tuple(float(v) for v in x[np.argmax(strange)])
    inside = so_far.inside + int(np.isfinite(log_end).sum())
    drawn = so_far.drawn + len(x)
    # Half a point is added on either side: none seen outside does not prove that there is none.
    p = (inside + 0.5) / (drawn + 1)
    error = float(np.sqrt((1 - p) / (p * drawn)))
    infinite = so_far.infinite + int((log_end == np.inf).sum())
    return SupportShare(
        inside, drawn, so_far.not_a_number + int(strange.sum()), error, example, infinite
    )


def count_draws(inside: np.ndarray) -> SupportShare:
    """The share of correlated draws of the start, inside[chain, draw] true or false."""
    error = float(autocorrelation.standard_error(inside.astype(float))) / inside.mean()
    return SupportShare(int(inside.sum()), inside.size, 0, float(error))
