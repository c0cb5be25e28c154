"""Implicit uniform priors: how far from one the integral of a flat density between bounds is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import lgamma, log, pi, prod

import numpy as np

from refti.inputs.stan.declarations import Declared
from refti.inputs.stan.space import StanSpace

# An unconstrained coordinate from which the value is at its bound but for rounding: at the bound
# itself, others whose bounds depend on it would have no room left.
FAR = 33.0


def log_volumes(
    space: StanSpace, declared: Mapping[str, Declared], names: Iterable[str]
) -> dict[str, float | None]:
    """By parameter, the log of the integral of 1 over its values; None if others decide it."""
    return {name: _log_volume(space, declared[name]) for name in names}


def _log_volume(space: StanSpace, declared: Declared) -> float | None:
    shape = space.parameters[declared.name].shape
    if declared.kind == "simplex":
        return -prod(shape[:-1]) * lgamma(shape[-1])
    if declared.kind == "column_stochastic_matrix":
        return -prod(shape[:-2]) * shape[-1] * lgamma(shape[-2])
    if declared.kind == "row_stochastic_matrix":
        return -prod(shape[:-1]) * lgamma(shape[-1])
    if declared.kind == "unit_vector":
        half = shape[-1] / 2
        return prod(shape[:-1]) * (log(2) + half * log(pi) - lgamma(half))
    if declared.kind == "corr_matrix":
        return prod(shape[:-2]) * sum(
            i * (2 * lgamma((i + 1) / 2) - lgamma(i + 1)) + i * i * log(2)
            for i in range(1, shape[-1])
        )
    if declared.kind == "cholesky_factor_corr":
        return prod(shape[:-2]) * sum(_log_ball(k) for k in range(1, shape[-1]))
    return _log_width(space, declared.name)


def _log_ball(dim: int) -> float:
    return dim / 2 * log(pi) - lgamma(dim / 2 + 1)


def _log_width(space: StanSpace, name: str) -> float | None:
    """The sum of the logs of the widths between bounds; None if they depend on parameters."""
    mine = np.array(space.owners) == name
    others = np.random.default_rng(0).normal(size=(3, len(mine)))
    sides = [space.constrain_all(np.where(mine, far, others))[name] for far in (-FAR, FAR)]
    widths = np.abs(sides[1] - sides[0]).reshape(3, -1)
    if not np.isfinite(widths).all() or np.ptp(widths, axis=0).max(initial=0.0) > 0:
        return None
    return float(np.log(widths[0]).sum())
