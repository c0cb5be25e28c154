"""Draws: what sampling one leg leaves behind, and all that the estimators need to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from refti.draws import autocorrelation
from refti.draws.tuning import TUNING
from refti.errors import LadderError, SettingsError


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of one leg `log q_lam = log q_start + lam * delta`.

    Attributes:
        lambdas: `[rung]`, from 0 to 1, strictly increasing.
        delta: `[rung, chain, draw]`, `log q_end - log q_start` at draws from each rung.
    """

    lambdas: NDArray[np.float64]
    delta: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("lambdas", "delta"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        _require_ladder(self.lambdas)
        _require_delta(self.delta, len(self.lambdas))

    def __repr__(self) -> str:
        return f"Draws({self.rungs} rungs, {self.chains} chains, {self.draws} draws)"

    @property
    def rungs(self) -> int:
        """The number of rungs."""
        return self.delta.shape[0]

    @property
    def chains(self) -> int:
        """The number of chains a rung."""
        return self.delta.shape[1]

    @property
    def draws(self) -> int:
        """The number of draws a chain."""
        return self.delta.shape[2]

    def mean(self) -> NDArray[np.float64]:
        """Returns `E_lam[delta]` at each rung."""
        return self.delta.mean(axis=(1, 2))

    def variance(self) -> NDArray[np.float64]:
        """Returns the variance of delta at each rung, which is the slope of the mean there."""
        return self.delta.var(axis=(1, 2), ddof=min(1, self.chains * self.draws - 1))

    def r_hat(self) -> NDArray[np.float64]:
        """Returns the R-hat of delta at each rung."""
        return autocorrelation.r_hat(self.delta)

    def effective_sample_size(self) -> NDArray[np.float64]:
        """Returns the effective sample size of delta at each rung."""
        return autocorrelation.effective_sample_size(self.delta)

    def bridges(self) -> NDArray[np.float64]:
        """Returns `log z_next - log z_this` of each neighbouring pair, by a bridge of that pair.

        This is the acceptance ratio of Bennett (1976), both rungs weighing the same: the value at
        which the two rungs give each other the same membership probability.
        """
        return _bridge_roots(*self._neighbours())

    def overlap(self) -> NDArray[np.float64]:
        """Returns the overlap of each neighbouring pair: 0 is disjoint, 1 is identical.

        It is `4 E[p (1 - p)]` over the draws of both rungs, with `p` the probability that a draw
        belongs to the upper one at the pair's own bridge.
        """
        lower, upper = self._neighbours()
        distance = np.concatenate([lower, upper], axis=1) - self.bridges()[:, None]
        return 4 * (special.expit(distance) * special.expit(-distance)).mean(axis=1)

    def halves(self) -> tuple[Draws, Draws]:
        """Returns the first and the second half of every chain, without the middle draw if odd."""
        if self.draws < 2:
            raise SettingsError("Halves need two draws a chain or more; got 1. Draw more.")
        half = self.draws // 2
        first, second = self.delta[:, :, :half], self.delta[:, :, -half:]
        return Draws(self.lambdas, first), Draws(self.lambdas, second)

    def of_chains(self, indices: Sequence[int]) -> Draws:
        """Returns the draws of these chains only, in this order."""
        return Draws(self.lambdas, self.delta[:, np.asarray(indices, dtype=int)])

    def _neighbours(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns `log q_next - log q_this` at the draws of both rungs, each `[pair, draw]`."""
        flat = self.delta.reshape(self.rungs, -1)
        steps = np.diff(self.lambdas)[:, None]
        return steps * flat[:-1], steps * flat[1:]


def _require_ladder(lambdas: NDArray[np.float64]) -> None:
    """Raises LadderError if these are no ladder from 0 to 1."""
    if lambdas.ndim != 1 or len(lambdas) < 2:
        raise LadderError(
            f"Ladder must be a row of two rungs or more; got shape {lambdas.shape}. "
            "Use refti.uniform(11)."
        )
    rising = bool(np.all(np.diff(lambdas) > 0))
    if not (rising and lambdas[0] == 0 and lambdas[-1] == 1):
        raise LadderError(
            "Ladder must start at 0, end at 1 and increase strictly; "
            f"got {np.array2string(lambdas, threshold=12)}. Use refti.uniform(11)."
        )


def _require_delta(delta: NDArray[np.float64], rungs: int) -> None:
    """Raises SettingsError if delta has another shape, or values that are not finite."""
    if delta.ndim != 3 or delta.shape[0] != rungs or 0 in delta.shape:
        raise SettingsError(
            f"Delta must be an array [rung, chain, draw] with {rungs} rungs, a chain and a draw "
            f"or more; got shape {delta.shape}."
        )
    bad = ~np.isfinite(delta)
    if bad.any():
        first = tuple(int(index) for index in np.argwhere(bad)[0])
        raise SettingsError(
            f"Delta must be finite; got {bad.sum()} of {bad.size} values NaN or infinite, the "
            f"first ({delta[first]}) at rung, chain, draw {first}. Draws outside the support of "
            "either end of the leg must not reach the estimators: restrict the start of the leg."
        )


def _bridge_roots(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the root `c` of `mean sigmoid(lower - c) = mean sigmoid(c - upper)` of each row.

    Both sides are compared as logarithms. Their difference then falls with a slope between -2 and
    0 that nears -2 as the overlap vanishes, so rungs with nothing in common cost no more than
    others and nothing underflows. Newton's step is taken while it stays within the bracket, which
    the smallest and the largest draw give, and the bracket is halved otherwise.
    """
    low = np.minimum(lower.min(axis=1), upper.min(axis=1))
    high = np.maximum(lower.max(axis=1), upper.max(axis=1))
    root = 0.5 * (lower.mean(axis=1) + upper.mean(axis=1))
    tolerance = TUNING.bridge_tolerance * (1.0 + np.maximum(np.abs(low), np.abs(high)))
    for _ in range(TUNING.bridge_steps):
        down, down_slope = _log_mean_sigmoid(lower - root[:, None])
        up, up_slope = _log_mean_sigmoid(root[:, None] - upper)
        gap = down - up
        low, high = np.where(gap >= 0, root, low), np.where(gap <= 0, root, high)
        slope = down_slope + up_slope
        newton = root + gap / np.maximum(slope, 1e-12)
        inside = (newton >= low) & (newton <= high)
        moved = np.where(inside, newton, 0.5 * (low + high))
        settled = np.abs(moved - root) <= tolerance
        root = moved
        if settled.all():
            break
    return root


def _log_mean_sigmoid(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns `log mean sigmoid(values)` of each row and its slope in a common shift."""
    logs = -np.logaddexp(0.0, -values)
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - top)
    total = weights.sum(axis=1)
    slope = (weights * special.expit(-values)).sum(axis=1) / total
    return top[:, 0] + np.log(total / values.shape[1]), slope
