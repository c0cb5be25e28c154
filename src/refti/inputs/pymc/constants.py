"""Constants of priors that PyMC has wrong, found in a model's variables and put right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Correction:
    """What must be added to the log prior of a variable, and why, in words."""

    nats: float
    why: str


def corrections(model: Any) -> Iterator[Correction]:
    """The corrections of all free variables whose constant is known to be wrong."""
    for rv in model.free_RVs:
        kind = type(rv.owner.op).__name__
        if "LKJ" in kind:
            yield from _lkj(rv, kind)
        yield from _ordered(rv, model.rvs_to_transforms[rv])


def log_lkj_integral(n: int, eta: float) -> float:
    """The log of the integral of det(R)^(eta - 1) over correlation matrices R of n rows.

    Lewandowski, Kurowicka and Joe (2009), equation 16, as a product over the n - 1 diagonals.
    """
    whole = lgamma(eta + 0.5 * (n - 1))
    return sum(0.5 * k * log(pi) + lgamma(eta + 0.5 * (n - 1 - k)) - whole for k in range(1, n))


def _lkj(rv: Any, kind: str) -> Iterator[Correction]:
    """PyMC 5 adds the constant of LKJ priors where it should subtract it."""
    try:
        (n, eta), known = _lkj_at_identity(rv, kind)
    except Exception:  # another version of PyMC's, whose constant the check of the prior will see
        return
    nats = -log_lkj_integral(n, eta) - known
    if abs(nats) > 1e-6:
        yield Correction(
            nats,
            f'PyMC has the constant of the LKJ prior of "{rv.name}" wrong, by {-nats:+.4f} nats '
            f"(n = {n}, eta = {eta:g}); refti corrects it",
        )


def _lkj_at_identity(rv: Any, kind: str) -> tuple[tuple[int, float], float]:
    """n and eta, and PyMC's log density of the correlations alone where all of them are zero."""
    import pymc
    from pymc.distributions import multivariate

    parameters = [v for v in rv.owner.inputs[1:] if getattr(v.type, "ndim", 1) == 0]
    n, eta = int(parameters[0].eval()), float(parameters[1].eval())
    if "Cholesky" in kind:
        unit = pymc.Exponential.dist(1.0)
        alone = multivariate._LKJCholeskyCov.dist(n=n, eta=eta, sd_dist=unit)
        value = np.eye(n)[np.tril_indices(n)]
        return (n, eta), float(pymc.logp(alone, value).eval()) + n  # less those of n unit scales
    alone = multivariate._LKJCorr.dist(n=n, eta=eta)
    return (n, eta), float(pymc.logp(alone, np.zeros(n * (n - 1) // 2)).eval())


def _ordered(rv: Any, transform: Any) -> Iterator[Correction]:
    """Of draws that are alike only one order in n! is kept, and not divided by its share."""
    parts = getattr(transform, "transform_list", [transform])
    if not any(type(part).__name__ == "Ordered" for part in parts):
        return
    shape = tuple(int(size) for size in rv.shape.eval())
    if not shape or rv.owner.op.ndim_supp != 0 or not _are_alike(rv):
        return  # the share is another one, which the check of the prior tells
    count = int(np.prod(shape[:-1]))
    nats = count * lgamma(shape[-1] + 1)
    yield Correction(
        nats,
        f'"{rv.name}" is ordered, and PyMC does not divide its prior by the share of draws in '
        f"that order, 1 in {shape[-1]}!; refti adds the {nats:.4f} nats that are missing",
    )


def _are_alike(rv: Any) -> bool:
    """Whether all elements along the last axis have the same parameters."""
    for parameter in rv.owner.op.dist_params(rv.owner):
        if parameter.type.ndim and parameter.type.shape[-1] != 1:
            try:
                values = np.asarray(parameter.eval())  # fails where it depends on other variables
            except Exception:
                return False
            if np.ptp(values, axis=-1).any():
                return False
    return True
