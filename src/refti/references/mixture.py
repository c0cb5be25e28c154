"""Mixture references: several Gaussians, for posteriors with more than one mode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import linalg
from scipy.special import log_softmax

from refti.errors import ReferenceFitError
from refti.references.base import in_64_bits
from refti.references.clusters import Clusters, find_clusters, label_by_nearest, log_normals
from refti.references.family import FitInputs
from refti.references.laplace import expand_at_mode
from refti.references.level import match_level
from refti.references.shrinkage import require_covariance, shrunk_factor, varying_coordinates
from refti.tuning import tuned


@dataclass(frozen=True)
class MixtureTuning:
    """Numbers of the fit of a mixture."""

    fewest_draws: int = tuned(10, "nearest to a mode, without which it is dropped with them")


TUNING = MixtureTuning()


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["log_weights", "means", "factors", "inverse_factors", "log_z"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Mixture:
    """exp(log_z) times a weighted sum of normal densities.

    `factors` are the lower Cholesky factors of the covariances and `inverse_factors` their
    inverses. The weights count relative to each other: they are divided by their sum.
    """

    log_weights: Float[Array, " component"]
    means: Float[Array, "component dim"]
    factors: Float[Array, "component dim dim"]
    inverse_factors: Float[Array, "component dim dim"]
    log_z: Float[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        whitened = jnp.einsum("kij,kj->ki", self.inverse_factors, x - self.means)
        diagonals = jnp.diagonal(self.factors, axis1=1, axis2=2)
        log_parts = (
            jax.nn.log_softmax(jnp.asarray(self.log_weights))
            - 0.5 * jnp.sum(whitened**2, axis=1)
            - jnp.sum(jnp.log(jnp.abs(diagonals)), axis=1)
        )
        log_sum = jax.scipy.special.logsumexp(log_parts)
        return self.log_z + log_sum - 0.5 * len(x) * jnp.log(2 * jnp.pi)

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw, of a component drawn first."""
        which_key, normal_key = jax.random.split(key)
        which = jax.random.categorical(which_key, self.log_weights)
        normal = jax.random.normal(normal_key, self.means.shape[1:], self.means.dtype)
        means, factors = jnp.asarray(self.means), jnp.asarray(self.factors)
        return means[which] + factors[which] @ normal


def fit(inputs: FitInputs) -> Mixture:
    """The mixture of the draws about the modes, at the posterior's level."""
    heights, _ = inputs.evaluate(inputs.draws)
    return match_level(fit_mixture(inputs.draws, inputs.peaks, heights), inputs)


def fit_at_peaks(inputs: FitInputs) -> Mixture:
    """The mixture of the Gaussians of the curvature at every mode, by the mass each holds.

    Raises ReferenceFitError if a curvature is not known.
    """
    peaks, factors, masses = inputs.peaks, inputs.peak_factors, inputs.peak_masses
    if peaks is None:
        only = expand_at_mode(inputs.mode)
        mean, factor = np.asarray(only.mean), np.asarray(only.factor)
        return match_level(mixture(np.zeros(1), mean[None], factor[None], 0.0), inputs)
    if factors is None or masses is None:
        raise ReferenceFitError(
            "A mixture of second-order expansions needs a negative definite Hessian at every "
            f"mode; got {len(peaks)} modes, not all of which have one. Use reference='mixture'."
        )
    return match_level(mixture(masses, peaks, factors, 0.0), inputs)


def mixture(
    log_weights: np.ndarray, means: np.ndarray, factors: np.ndarray, log_z: float
) -> Mixture:
    """The mixture of weights, means[k, dim] and lower Cholesky factors[k, dim, dim]."""
    identity = np.eye(means.shape[1])
    inverses = np.stack([linalg.solve_triangular(f, identity, lower=True) for f in factors])
    return Mixture(*in_64_bits(log_softmax(log_weights), means, factors, inverses, log_z))


def fit_mixture(
    draws: np.ndarray,
    centres: np.ndarray | None = None,
    log_density: np.ndarray | None = None,
) -> Mixture:
    """The mixture of Gaussians of draws[n, dim].

    With `centres[k, dim]`, modes found far apart, every draw counts to the nearest, and a centre
    with too few draws for a covariance is dropped with them. Without, the number of components
    (up to 4) is that of the least Bayesian information criterion.

    With `log_density[n]`, log q at the draws, the weight of a component that is apart from the
    others is the mass that it holds by its draws' heights, the mean of log q - log normal (too
    large by the divergence of the two). Chains do not move between far modes, so the numbers of
    their draws say where they were started and nothing else.
    """
    require_covariance(draws)
    found = find_clusters(draws) if centres is None else _clusters_about(draws, centres)
    if found is None:
        mean, factor = shrunk_factor(draws)
        return mixture(np.zeros(1), mean[None], factor[None], 0.0)
    log_weights, means, factors, labels, are_apart = found
    if log_density is not None and are_apart:
        masses = _log_masses(draws, log_density, labels, means, factors)
        # Without a single height the counts are all there is.
        log_weights = masses if np.isfinite(masses).all() else log_weights
    return mixture(log_weights, means, factors, 0.0)


def _clusters_about(draws: np.ndarray, centres: np.ndarray) -> Clusters | None:
    """The draws by the nearest centre, or None where none has enough of them."""
    labels = label_by_nearest(draws, np.atleast_2d(centres))
    parts = [draws[labels == k] for k in range(labels.max() + 1)]
    usable = [k for k, part in enumerate(parts) if _has_covariance(part)]
    if not usable:
        return None
    means, factors = zip(*(shrunk_factor(parts[k]) for k in usable), strict=True)
    log_weights = np.log([float(len(parts[k])) for k in usable])
    new_labels = np.full(labels.max() + 1, -1)
    new_labels[usable] = np.arange(len(usable))
    return Clusters(log_weights, np.stack(means), np.stack(factors), new_labels[labels], True)


def _has_covariance(part: np.ndarray) -> bool:
    return len(part) >= TUNING.fewest_draws and bool(varying_coordinates(part).all())


def _log_masses(
    draws: np.ndarray,
    log_density: np.ndarray,
    labels: np.ndarray,
    means: np.ndarray,
    factors: np.ndarray,
) -> np.ndarray:
    """The log integral of the density about each mean, were it normal there."""
    ratios = log_density[:, None] - log_normals(draws, means, factors)
    own = [ratios[labels == k, k] for k in range(len(means))]
    finite = [part[np.isfinite(part)] for part in own]
    return np.array([part.mean() if len(part) else np.nan for part in finite])
