"""Flow references: a trained map of a standard normal, by the optional package flowjax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from refti.errors import ReferenceFitError
from refti.models.model import Model
from refti.references.base import in_64_bits
from refti.references.family import FitInputs
from refti.references.gaussian import invert_lower
from refti.references.level import match_level
from refti.references.shrinkage import require_covariance, shrunk_factor
from refti.tuning import tuned


@dataclass(frozen=True)
class FlowTuning:
    """Numbers of a flow's architecture and training."""

    epochs: int = tuned(100, "of training at the most")
    patience: int = tuned(10, "epochs without a gain on the draws held out, after which it ends")
    held_out: float = tuned(0.15, "of the draws, by which the end of training is told")
    fewest_draws: int = tuned(50, "that a flow is trained on")
    batch: int = tuned(256, "draws a step at the most")
    learning_rate: float = tuned(5e-3, "of Adam; the draws are whitened, so it need not be tuned")
    layers: int = tuned(4, "couplings, so that either half is bent twice given the other")
    knots: int = tuned(8, "of each spline")
    interval: float = tuned(
        5.0, "in whitened coordinates, beyond which splines are the identity and tails the normal's"
    )


TUNING = FlowTuning()


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
            transformer=RationalQuadraticSpline(knots=TUNING.knots, interval=TUNING.interval),
            flow_layers=TUNING.layers if dim > 1 else 1,
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


def fit(inputs: FitInputs) -> Flow:
    """The flow trained on the draws, at the posterior's level."""
    return match_level(fit_flow(inputs.draws, inputs.seed), inputs)


def restore(arrays: Mapping[str, np.ndarray], model: Model) -> Flow:
    """The flow of given arrays, its weights among them under numbers: weights.0, weights.1, ..."""
    own = {name: value for name, value in arrays.items() if not name.startswith("weights.")}
    weights = tuple(arrays[f"weights.{index}"] for index in range(len(arrays) - len(own)))
    return Flow(**own, weights=weights, architecture=architecture(model.dim))  # type: ignore[arg-type]


def fit_flow(draws: np.ndarray, seed: int = 0) -> Flow:
    """The flow trained on the draws, whitened first, until those held out are no more probable."""
    require_covariance(draws)
    count, dim = draws.shape
    if count < TUNING.fewest_draws:
        raise ReferenceFitError(
            f"A flow needs at least {TUNING.fewest_draws} draws; got {count}. Draw more, or use "
            "reference='covariance'."
        )
    plan = architecture(dim)
    import equinox
    import paramax
    from flowjax.train import fit_to_data

    optimizer, loss = _training()
    mean, factor = shrunk_factor(draws)
    inverse = invert_lower(factor)
    with jax.enable_x64(True):
        trained, losses = fit_to_data(
            jax.random.key(seed),
            plan.untrained,
            jnp.asarray((draws - mean) @ inverse.T),
            loss_fn=loss,
            optimizer=optimizer,
            max_epochs=TUNING.epochs,
            max_patience=TUNING.patience,
            batch_size=min(TUNING.batch, count // 5),
            val_prop=TUNING.held_out,
            show_progress=False,
        )
        kept = equinox.filter(paramax.unwrap(trained), equinox.is_inexact_array)
        weights: Any = tuple(in_64_bits(*jax.tree.leaves(kept)))
    if not np.isfinite(losses["val"]).any() or not all(np.isfinite(w).all() for w in weights):
        raise ReferenceFitError(
            "The training of the flow did not converge: no finite loss on the draws held out. "
            "Use reference='covariance'."
        )
    mean, factor, inverse, log_z = in_64_bits(mean, factor, inverse, 0.0)
    return Flow(mean, factor, inverse, weights, log_z, plan)


@cache
def _training() -> tuple[Any, Any]:
    """The optimiser and the loss; new ones for every fit would be compiled anew."""
    import optax
    from flowjax.train.losses import MaximumLikelihoodLoss

    return optax.adam(TUNING.learning_rate), MaximumLikelihoodLoss()
