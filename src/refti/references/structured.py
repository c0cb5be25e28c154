"""Structured references: Gaussians of thousands of parameters, straight or bent.

Their covariance is that of the curvature at the mode, sparse or of a few directions, with widths
and directions learned from the draws. Memory and a density's cost are linear in the dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from refti.factors.banded import Banded
from refti.factors.factor import Factor, Widening, learn, learn_from_nothing, no_widening
from refti.models.model import Model
from refti.references.base import in_64_bits
from refti.references.bends import bend, straighten_quickly
from refti.references.family import FitInputs
from refti.references.level import match_level
from refti.references.shrinkage import require_covariance
from refti.references.sinh_arcsinh import Bend, fit_bends
from refti.references.warped import TUNING
from refti.search.large_mode import LargeMode


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "factor", "skew", "tail", "log_z"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Structured:
    """exp(log_z) times the density of mean + factor(bend(v)), v standard normal.

    bend(v) = sinh((asinh v + skew) / tail), coordinate by coordinate; without skew and tail it is
    a Gaussian.
    """

    mean: Float[Array, " dim"]
    factor: Factor
    skew: Float[Array, " dim"] | None
    tail: Float[Array, " dim"] | None
    log_z: Float[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        v, slope = self.factor.into(x - self.mean), jnp.zeros(())
        if self.skew is not None and self.tail is not None:
            v, slopes = straighten_quickly(v, self.skew, self.tail)
            slope = jnp.sum(slopes)
        log_normal = -0.5 * jnp.dot(v, v) - 0.5 * len(v) * jnp.log(2 * jnp.pi)
        return self.log_z + log_normal + slope - self.factor.log_determinant

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        v = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        if self.skew is not None and self.tail is not None:
            v = bend(v, self.skew, self.tail)
        return self.mean + self.factor.out(v)


def structured(
    mean: np.ndarray, factor: Factor, log_z: float, bends: Bend | None = None
) -> Structured:
    """The reference of a mean, a factor and bends of its white coordinates.

    The bends' locations and scales become part of the mean and the factor.
    """
    factor = factor.on_host
    if bends is None:
        place, level = in_64_bits(mean, log_z)
        return Structured(place, factor, None, None, level)
    mean = mean + factor.out_rows(bends.location[None])[0]
    factor = _scaled(factor, bends.scale)
    place, skew, tail, level = in_64_bits(mean, bends.skew, bends.tail, log_z)
    return Structured(place, factor, skew, tail, level)


def fit(inputs: FitInputs) -> Structured:
    """The Gaussian of the draws' mean and the curvature's covariance, its widths learned."""
    return match_level(fit_structured(inputs.draws, inputs.base), inputs)


def fit_warped(inputs: FitInputs) -> Structured:
    """The same, bent to the skew and tails of the white coordinates."""
    other = inputs.mode.other_way if isinstance(inputs.mode, LargeMode) else None
    return match_level(fit_bent(inputs.draws, inputs.base, other), inputs)


def fit_structured(draws: np.ndarray, base: Any = None) -> Structured:
    """The Gaussian of draws[n, dim] with the covariance of a base, as far as they do not differ."""
    require_covariance(draws)
    mean = draws.mean(axis=0)
    return structured(mean, _learned(base, draws - mean), 0.0)


def fit_bent(draws: np.ndarray, base: Any = None, other_way: Factor | None = None) -> Structured:
    """The same with bends, of white coordinates in the order that predicts draws left out best.

    The steps of a series are skewed given what was before them; given what comes after, they are
    mixed with each other.
    """
    require_covariance(draws)
    base = base if isinstance(base, Factor) else learn_from_nothing(draws - draws.mean(axis=0))
    half = len(draws) // 2
    if other_way is None or half < TUNING.fewest_draws:
        return _bent(draws, base)
    scores = []
    for candidate in (base, other_way):
        fitted = _bent(draws[:half], candidate)
        scores.append(np.mean(log_densities(fitted, draws[half:][: TUNING.judged_by])))
    return _bent(draws, base if scores[0] >= scores[1] else other_way)


def log_densities(reference: Structured, x: np.ndarray) -> np.ndarray:
    """The log density at points x[n, dim] up to a constant, in NumPy, without a compiler."""
    numbers: Any = reference
    unit = Bend.straight(x.shape[1])
    bends = Bend(unit.location, unit.scale, numbers.skew, numbers.tail)
    v, slopes = bends.straighten(reference.factor.into_rows(x - numbers.mean))
    density: np.ndarray = np.sum(slopes - 0.5 * v**2, axis=1)
    return density - float(reference.factor.log_determinant)


def _bent(draws: np.ndarray, base: Factor) -> Structured:
    """The reference with the bends of draws[n, dim] in a factor's white coordinates.

    Bends have locations and scales of their own; learned directions would mix what is to be bent.
    """
    mean = draws.mean(axis=0)
    rank = base.learned.directions.shape[1]
    factor = replace(base.on_host, learned=no_widening(len(mean), rank))
    bends = fit_bends(factor.into_rows(draws - mean))
    return structured(mean, factor, 0.0, bends)


def restore(arrays: Any, model: Model) -> Structured:
    """The reference that was written as these arrays."""
    del model

    def part(kind: type, prefix: str) -> Any:
        return kind(**{f.name: arrays[f"{prefix}.{f.name}"] for f in fields(kind)})

    has_band = any(name.startswith("factor.banded.") for name in arrays)
    factor = Factor(
        part(Banded, "factor.banded") if has_band else None,
        part(Widening, "factor.curved"),
        part(Widening, "factor.learned"),
    )
    skew, tail = (arrays.get(name) for name in ("skew", "tail"))
    return Structured(arrays["mean"], factor, skew, tail, arrays["log_z"])


def _learned(base: Any, centred: np.ndarray) -> Factor:
    if isinstance(base, Factor):
        return learn(base, centred).on_host
    return learn_from_nothing(centred)


def _scaled(factor: Factor, scales: np.ndarray) -> Factor:
    """factor @ diag(scales), where no learned direction lies between the two."""
    assert not factor.learned.lengthened.any()
    return replace(factor, learned=replace(factor.learned, scales=factor.learned.scales * scales))
