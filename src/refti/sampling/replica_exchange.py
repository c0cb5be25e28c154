"""Replica exchange: neighbouring rungs trade places, so that what one finds reaches the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Exchanged:
    """Positions after the rungs have traded, and which trades were made.

    Attributes:
        x: `[rung, chain, dim]`.
        moved: `[rung]`, whether any chain of the rung has a new position.
        tried: `[pair]`, trades tried.
        accepted: `[pair]`, trades made.
    """

    x: np.ndarray
    moved: np.ndarray
    tried: np.ndarray
    accepted: np.ndarray


def exchange(
    lambdas: Sequence[float] | np.ndarray,
    x: np.ndarray,
    delta: np.ndarray,
    parity: int,
    rng: np.random.Generator,
) -> Exchanged:
    """What Metropolis makes of trading positions between every other pair of neighbours.

    Rungs k and k + 1 trade the positions of a chain with probability
    min(1, exp((lam_{k+1} - lam_k) (delta_k - delta_{k+1}))). Pairs of one parity are tried at a
    time, by turns, which lets a position wander along the ladder instead of to and fro
    (Okabe et al. 2001; Syed et al. 2022).

    Args:
        lambdas: `[rung]`.
        x: positions, `[rung, chain, dim]`.
        delta: delta there, `[rung, chain]`; -inf, outside the support, is never traded.
        parity: 0 or 1, which pairs to try.
        rng: the randomness.
    """
    rungs, chains = delta.shape
    x = x.copy()
    moved = np.zeros(rungs, dtype=bool)
    tried, accepted = np.zeros(rungs - 1, dtype=int), np.zeros(rungs - 1, dtype=int)
    for pair in range(parity % 2, rungs - 1, 2):
        low, high = delta[pair], delta[pair + 1]
        usable = np.isfinite(low) & np.isfinite(high)
        difference = np.where(usable, low, 0.0) - np.where(usable, high, 0.0)
        gain = (lambdas[pair + 1] - lambdas[pair]) * difference
        trade = usable & (np.log(rng.uniform(size=chains)) < gain)
        x[pair, trade], x[pair + 1, trade] = x[pair + 1, trade], x[pair, trade]
        moved[[pair, pair + 1]] |= trade.any()
        tried[pair], accepted[pair] = chains, int(trade.sum())
    return Exchanged(x, moved, tried, accepted)
