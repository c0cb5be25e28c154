"""A family of references of one's own: independent logistic densities. One file, and one row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from refti.references.base import in_64_bits
from refti.references.family import Family, FitInputs
from refti.references.level import match_level
from refti.references.shrinkage import require_covariance


@partial(jax.tree_util.register_dataclass, data_fields=["mean", "scale", "log_z"], meta_fields=[])
@dataclass(frozen=True)
class Logistic:
    """exp(log_z) times the product of logistic densities."""

    mean: Float[Array, " dim"]
    scale: Float[Array, " dim"]
    log_z: Float[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        standard = (x - self.mean) / self.scale
        each = standard - 2 * jax.nn.softplus(standard) - jnp.log(self.scale)
        return self.log_z + jnp.sum(each)

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        noise = jax.random.logistic(key, self.mean.shape, self.mean.dtype)
        return self.mean + self.scale * noise


def fit(inputs: FitInputs) -> Logistic:
    """The logistic densities of the draws' means and variances, at the posterior's level."""
    require_covariance(inputs.draws)
    scale = np.sqrt(3) / np.pi * inputs.draws.std(axis=0)
    return match_level(Logistic(*in_64_bits(inputs.draws.mean(axis=0), scale, 0.0)), inputs)


ROW = Family("logistic", Logistic, fit, "independent logistic densities", needs_gradient=False)
