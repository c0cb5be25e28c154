"""Flow references: a trained map of a standard normal, by the optional package flowjax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from refti.errors import ReferenceFitError
from refti.references.covariance import check_draws, shrunk_factor

_EPOCHS = 100
_PATIENCE = 10
_FEWEST = 50
# In whitened coordinates. Beyond it the splines are the identity, and the tails are the normal's.
_INTERVAL = 5.0


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "factor", "inverse_factor", "weights", "log_z"],
    meta_fields=["architecture"],
)
@dataclass(frozen=True)
class Flow:
    """exp(log_z) times the density of mean + factor @ T(v), v standard normal.

    T is a chain of rational quadratic splines, each of one half of the coordinates given the
    other half (of one coordinate alone in one dimension). Its inverse and Jacobian are exact.
    Outside of the interval of the splines T shifts nothing, so the tails are a Gaussian's.
    """

    mean: Float[Array, " dim"]
    factor: Float[Array, "dim dim"]
    inverse_factor: Float[Array, "dim dim"]
    weights: tuple[Array, ...]
    log_z: Float[Array, ""]
    architecture: Architecture

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        whitened = self.inverse_factor @ (x - self.mean)
        log_determinant = jnp.sum(jnp.log(jnp.abs(jnp.diagonal(self.factor))))
        return self.log_z + self.architecture(self.weights).log_prob(whitened) - log_determinant

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        return self.mean + self.factor @ self.architecture(self.weights).sample(key)


class Architecture:
    """The flow of a dimension without its weights; there is one a dimension.

    Compared by identity, so that all flows of a dimension run one compiled program.
    """

    def __init__(self, dim: int, untrained: Any, build: Callable[[tuple[Array, ...]], Any]):
        self.dim = dim
        self.untrained = untrained
        self._build = build

    def __call__(self, weights: tuple[Array, ...]) -> Any:
        """The flow of given weights."""
        return self._build(weights)

    def __reduce__(self) -> tuple[Any, ...]:
        return architecture, (self.dim,)


@cache
def architecture(dim: int) -> Architecture:
    """The flow of a dimension, whose weights are still to be trained."""
    try:
        import equinox
        import paramax
        from flowjax.bijections import RationalQuadraticSpline
        from flowjax.distributions import StandardNormal
        from flowjax.flows import coupling_flow, masked_autoregressive_flow
    except ImportError as missing:
        raise ReferenceFitError(
            "The flow reference needs the package flowjax, which is not installed. "
            'Run pip install "refti[flow]", or use another reference.'
        ) from missing

    make: Any = coupling_flow if dim > 1 else masked_autoregressive_flow
    normal: Any = StandardNormal
    with jax.enable_x64(True):
        untrained = make(
            jax.random.key(0),
            base_dist=normal((dim,)),
            transformer=RationalQuadraticSpline(knots=8, interval=_INTERVAL),
            flow_layers=4 if dim > 1 else 1,
            nn_width=int(np.clip(4 * dim, 32, 128)),
            # Smooth, because the density is differentiated by the sampler.
            nn_activation=jax.nn.silu,
        )
        plain = paramax.unwrap(untrained)
    arrays, rest = equinox.partition(plain, equinox.is_inexact_array)
    structure = jax.tree.structure(arrays)

    def build(weights: tuple[Array, ...]) -> Any:
        return equinox.combine(jax.tree.unflatten(structure, map(jnp.asarray, weights)), rest)

    return Architecture(dim, untrained, build)


def fit_flow(draws: np.ndarray, seed: int = 0, *, effective: float | None = None) -> Flow:
    """The flow trained on the draws, whitened first, until those held out are no more probable."""
    check_draws(draws)
    count, dim = draws.shape
    if count < _FEWEST:
        raise ReferenceFitError(
            f"A flow is trained on at least {_FEWEST} draws; got {count}. "
            "Draw more, or use reference='covariance'."
        )
    plan = architecture(dim)
    import equinox
    import paramax
    from flowjax.train import fit_to_data

    optimizer, loss = _training()
    mean, factor = shrunk_factor(draws, effective=effective)
    inverse = np.tril(np.linalg.solve(factor, np.eye(dim)))
    with jax.enable_x64(True):
        trained, losses = fit_to_data(
            jax.random.key(seed),
            plan.untrained,
            jnp.asarray((draws - mean) @ inverse.T),
            loss_fn=loss,
            optimizer=optimizer,
            max_epochs=_EPOCHS,
            max_patience=_PATIENCE,
            batch_size=min(256, count // 5),
            val_prop=0.15,
            show_progress=False,
        )
        kept = equinox.filter(paramax.unwrap(trained), equinox.is_inexact_array)
        weights = tuple(np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(kept))
    if not np.isfinite(losses["val"]).any() or not all(np.isfinite(w).all() for w in weights):
        raise ReferenceFitError(
            "The training of the flow did not converge: no finite loss on the draws held out. "
            "Use reference='covariance'."
        )
    # NumPy keeps 64 bits wherever this is called; JAX would round outside of refti's own calls.
    numbers: Any = [np.asarray(a, np.float64) for a in (mean, factor, inverse)]
    numbers += [weights, np.asarray(0.0), plan]
    return Flow(*numbers)


@cache
def _training() -> tuple[Any, Any]:
    """The optimiser and the loss; new ones for every fit would be compiled anew."""
    import optax
    from flowjax.train.losses import MaximumLikelihoodLoss

    return optax.adam(5e-3), MaximumLikelihoodLoss()
