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
from refti.factors.factor import Factor, Stretch, learn, learn_from_nothing, no_stretch
from refti.models.model import Model
from refti.references.base import in_64_bits
from refti.references.bends import bend, straighten
from refti.references.family import FitInputs
from refti.references.level import match_level
from refti.references.shrinkage import require_covariance
from refti.references.sinh_arcsinh import Bend, fit_bends


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "factor", "skew", "tail", "log_z"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Structured:
    """exp(log_z) times the density of mean + factor(bend(v)), v standard normal.

    bend(v) = sinh((asinh v + skew) / tail), coordinate by coordinate; a skew of 0 and a tail of 1
    leave a Gaussian.
    """

    mean: Float[Array, " dim"]
    factor: Factor
    skew: Float[Array, " dim"]
    tail: Float[Array, " dim"]
    log_z: Float[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        v, slopes = straighten(self.factor.into(x - self.mean), self.skew, self.tail)
        log_normal = -0.5 * jnp.dot(v, v) - 0.5 * len(v) * jnp.log(2 * jnp.pi)
        return self.log_z + log_normal + jnp.sum(slopes) - self.factor.log_determinant

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        v = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + self.factor.out(bend(v, self.skew, self.tail))


def structured(
    mean: np.ndarray, factor: Factor, log_z: float, bends: Bend | None = None
) -> Structured:
    """The reference of a mean, a factor and bends of its white coordinates.

    The bends' locations and scales become part of the mean and the factor.
    """
    bends = Bend.straight(len(mean)) if bends is None else bends
    factor = factor.on_host
    mean = mean + factor.out_rows(bends.location[None])[0]
    factor = _scaled(factor, bends.scale)
    place, skew, tail, level = in_64_bits(mean, bends.skew, bends.tail, log_z)
    return Structured(place, factor, skew, tail, level)


def fit(inputs: FitInputs) -> Structured:
    """The Gaussian of the draws' mean and the curvature's covariance, its widths learned."""
    return match_level(fit_structured(inputs.draws, inputs.base), inputs)


def fit_warped(inputs: FitInputs) -> Structured:
    """The same, bent to the skew and tails of the white coordinates."""
    return match_level(fit_bent(inputs.draws, inputs.base), inputs)


def fit_structured(draws: np.ndarray, base: Any = None) -> Structured:
    """The Gaussian of draws[n, dim] with the covariance of a base, as far as they do not differ."""
    require_covariance(draws)
    mean = draws.mean(axis=0)
    return structured(mean, _learned(base, draws - mean), 0.0)


def fit_bent(draws: np.ndarray, base: Any = None) -> Structured:
    """The same with bends."""
    require_covariance(draws)
    mean = draws.mean(axis=0)
    factor = _learned(base, draws - mean)
    # Bends have locations and scales of their own; directions would mix what is to be bent.
    rank = factor.learned.directions.shape[1]
    factor = replace(factor, learned=no_stretch(len(mean), rank))
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
        part(Stretch, "factor.curved"),
        part(Stretch, "factor.learned"),
    )
    return Structured(arrays["mean"], factor, *(arrays[n] for n in ("skew", "tail", "log_z")))


def _learned(base: Any, centred: np.ndarray) -> Factor:
    if isinstance(base, Factor):
        return learn(base, centred).on_host
    return learn_from_nothing(centred)


def _scaled(factor: Factor, scales: np.ndarray) -> Factor:
    """factor @ diag(scales), where no learned direction lies between the two."""
    if (scales == 1).all():
        return factor
    assert not factor.learned.stretches.any()
    return replace(factor, learned=replace(factor.learned, scales=factor.learned.scales * scales))
