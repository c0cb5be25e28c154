"""The truncated Gaussian: independent normals cut at the bounds of the parameters themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from refti.errors import ReferenceFitError
from refti.models.model import Model
from refti.references.family import FitInputs
from refti.references.level import height_at
from refti.references.normal_intervals import log_normal_mass, truncated_standard_normal
from refti.references.shrinkage import require_covariance

Constrain = Callable[[Float[Array, " dim"]], tuple[Float[Array, " dim"], Float[Array, ""]]]
Unconstrain = Callable[[Float[Array, " dim"]], Float[Array, " dim"]]


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "scale", "lower", "upper", "log_height"],
    meta_fields=["constrain", "unconstrain"],
)
@dataclass(frozen=True)
class TruncatedGaussian:
    """exp(log_height - sum_i ((theta_i - mean_i) / scale_i)^2 / 2) for theta within its bounds.

    The paper's diagonal reference for bounded parameters. It lives in the parameters' own space,
    where a parameter pressed against its bound looks like a cut normal; `constrain` (theta and
    the log Jacobian at x) and `unconstrain` (x at theta) carry it to unconstrained space, element
    by element. They are compared by identity: pass the same functions to share compiled programs.

    The bounds may be infinite and the mean may lie outside them.
    """

    mean: Float[Array, " dim"]
    scale: Float[Array, " dim"]
    lower: Float[Array, " dim"]
    upper: Float[Array, " dim"]
    log_height: Float[Array, ""]
    constrain: Constrain
    unconstrain: Unconstrain

    @property
    def log_z(self) -> Float[Array, ""]:
        """log_height + sum_i log(scale_i sqrt(2 pi) (Phi(b_i) - Phi(a_i))), bounds standardised.

        With a lower bound alone the share kept is (1 + erf((mean - lower) / (scale sqrt 2))) / 2.
        The paper's orthant formula is printed without this 1/2 of every bounded parameter.
        """
        shares = log_normal_mass(*self._standard_bounds())
        return self.log_height + jnp.sum(jnp.log(self.scale) + 0.5 * np.log(2 * np.pi) + shares)

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one unconstrained point, Jacobian included."""
        theta, log_jacobian = self.constrain(x)
        standard = (theta - self.mean) / self.scale
        return self.log_height - 0.5 * jnp.sum(standard**2) + log_jacobian

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw in unconstrained coordinates, always finite."""
        # Uniforms come as multiples of eps, zero included; half a step keeps them off both ends.
        step = jnp.finfo(self.mean.dtype).eps
        u = jax.random.uniform(key, self.mean.shape, self.mean.dtype) + 0.5 * step
        standard = truncated_standard_normal(u, *self._standard_bounds())
        return self.unconstrain(
            _strictly_inside(self.mean + self.scale * standard, self.lower, self.upper)
        )

    def _standard_bounds(self) -> tuple[Float[Array, " dim"], Float[Array, " dim"]]:
        return (self.lower - self.mean) / self.scale, (self.upper - self.mean) / self.scale


def fit(inputs: FitInputs) -> TruncatedGaussian:
    """The diagonal Gaussian of the constrained draws, cut at the parameters' bounds."""
    bounds(inputs.model)  # Raises if there are none, before anything is computed.
    space = inputs.model.supported_space
    constrain = jax.jit(jax.vmap(space.constrain_flat))
    theta = np.asarray(constrain(jnp.asarray(inputs.draws))[0])
    require_covariance(theta)
    mean, scale = theta.mean(axis=0), theta.std(axis=0)
    x = np.asarray(jax.jit(space.unconstrain_flat)(jnp.asarray(mean)))
    jacobian = float(jax.jit(space.constrain_flat)(jnp.asarray(x))[1])
    return truncated(inputs.model, mean, scale, height_at(inputs.evaluate, x) - jacobian)


def truncated(
    model: Model, mean: np.ndarray, scale: np.ndarray, log_height: float
) -> TruncatedGaussian:
    """The truncated Gaussian of given moments, in the constrained space of a model."""
    lower, upper = bounds(model)
    numbers = {"mean": mean, "scale": scale, "lower": lower, "upper": upper}
    return restore({**numbers, "log_height": np.asarray(log_height)}, model)


def placeholder(model: Model) -> TruncatedGaussian:
    """A member in a model's space before any is fitted."""
    return truncated(model, np.zeros(model.dim), np.ones(model.dim), 0.0)


def restore(arrays: Mapping[str, np.ndarray], model: Model) -> TruncatedGaussian:
    """The member of given arrays; its maps are those of the model's space."""
    space = model.supported_space
    with jax.enable_x64(True):
        numbers = {name: jnp.asarray(value, jnp.float64) for name, value in arrays.items()}
    return TruncatedGaussian(
        **numbers, constrain=space.constrain_flat, unconstrain=space.unconstrain_flat
    )


def bounds(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper bound of every parameter value, where each has bounds of its own."""
    supports = model.supported_space.supports
    joint = [name for name, s in supports.items() if not s.is_elementwise]
    if joint:
        raise ReferenceFitError(
            "The truncated reference needs parameters with bounds of their own; "
            f"got {', '.join(joint)} with a joint support (simplex, ordered or correlation). Use "
            "reference='covariance', which works in unconstrained space."
        )
    sides = [
        np.concatenate([np.full(s.shape, getattr(s, side)).ravel() for s in supports.values()])
        for side in ("lower", "upper")
    ]
    return sides[0], sides[1]


def _strictly_inside(
    theta: Float[Array, " dim"], lower: Float[Array, " dim"], upper: Float[Array, " dim"]
) -> Float[Array, " dim"]:
    """theta kept off its bounds by just so much that its unconstrained coordinate is finite."""
    limits = jnp.finfo(theta.dtype)
    # The sigmoid's share (theta - lower) / width must not round to one either.
    width = jnp.where(jnp.isfinite(lower), upper - lower, 0.0)
    above = lower + jnp.maximum(2 * limits.eps * jnp.abs(lower), limits.tiny)
    below = upper - jnp.maximum(2 * limits.eps * jnp.maximum(jnp.abs(upper), width), limits.tiny)
    return jnp.clip(
        theta,
        jnp.where(jnp.isfinite(lower), above, lower),
        jnp.where(jnp.isfinite(upper), below, upper),
    )
