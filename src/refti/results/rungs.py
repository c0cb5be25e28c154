"""Rungs: what a result keeps of every rung, for tables and plots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from refti.draws import autocorrelation
from refti.draws.draws import Draws

UNKNOWN = float("nan")


@dataclass(frozen=True)
class RungSummary:
    """One rung of a leg; NaN where a number is not known or makes no sense.

    Attributes:
        leg: which leg of the path it belongs to, from 0.
        lam: its lambda.
        draws: the draws that were kept of it, of all chains.
        effective_draws: what they are worth, by ranks of delta.
        r_hat: the R-hat of delta.
        divergences: the share of trajectories that diverged; NaN where draws are exact.
        acceptance: the mean probability that a move is accepted; NaN where draws are exact.
        exchange: the share accepted of the exchanges tried with the next rung above; NaN at the
            last rung of a leg.
        gradients: the evaluations of its chains for the draws that were kept.
    """

    leg: int
    lam: float
    draws: int
    effective_draws: float
    r_hat: float
    divergences: float = UNKNOWN
    acceptance: float = UNKNOWN
    exchange: float = UNKNOWN
    gradients: float = UNKNOWN


def summarise_rungs(
    leg: int,
    draws: Draws,
    *,
    divergences: np.ndarray,
    exchanges: np.ndarray,
    acceptance: np.ndarray | None = None,
    gradients: np.ndarray | None = None,
) -> tuple[RungSummary, ...]:
    """The rungs of one leg.

    Args:
        leg: which leg of the path it is, from 0.
        draws: its draws.
        divergences: `[sampled rung]`, shares; a start that is drawn exactly is not sampled.
        exchanges: `[pair]`, the share of exchanges tried that were made.
        acceptance: `[sampled rung]`, mean probabilities.
        gradients: `[sampled rung]`, evaluations.
    """
    sizes, r_hats = autocorrelation.bulk_size(draws.delta), draws.r_hat()
    of_chains = [_from_the_last(part, draws.rungs) for part in (divergences, acceptance, gradients)]
    return tuple(
        RungSummary(
            leg=leg,
            lam=float(draws.lambdas[k]),
            draws=draws.chains * draws.draws,
            effective_draws=float(sizes[k]),
            r_hat=float(r_hats[k]),
            divergences=of_chains[0][k],
            acceptance=of_chains[1][k],
            exchange=float(exchanges[k]) if k < len(exchanges) else UNKNOWN,
            gradients=of_chains[2][k],
        )
        for k in range(draws.rungs)
    )


def read_rung(parts: Mapping[str, Any]) -> RungSummary:
    """The rung of plain values, as a file has them."""
    numbers: dict[str, Any] = {f.name: float(parts[f.name]) for f in fields(RungSummary)}
    return RungSummary(**numbers | {name: int(parts[name]) for name in ("leg", "draws")})


def _from_the_last(values: np.ndarray | None, rungs: int) -> list[float]:
    """One number a rung, given those of the last rungs or none."""
    known = [] if values is None else [float(value) for value in values]
    return [UNKNOWN] * (rungs - len(known)) + known
