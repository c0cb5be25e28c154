"""Taylor expansions of a log density around its mode: the stations of a telescopic path.

An expansion needs no derivative tensors. Along the ray from the mode through x the log density
is a function of one variable, whose coefficients follow from the density's own program, one
elementary operation after the other; their sum is the expansion at x, in any dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from refti.errors import ReferenceFitError
from refti.models.density import QUICK_COMPILE
from refti.models.model import Model
from refti.references.taylor_arithmetic import LogDensity, ray_coefficients
from refti.tuning import tuned


@dataclass(frozen=True)
class TaylorTuning:
    """Numbers of the search for directions in which an expansion is no density."""

    highest_climb: float = tuned(
        10.0,
        "nats that the expansion may climb above its value at the mode; a higher peak far away is "
        "where its mass would be, and no sampler started near the mode would tell",
    )
    rounding: float = tuned(
        1e-12, "what is left of a coefficient that is zero but for rounding, next to one of 1"
    )
    highest_order: int = tuned(
        10,
        "compiling takes about twice as long every two orders, and no budget interrupts it: for "
        "the dearest density of the suite one of several programs takes 8 s at order 8, 12 s at "
        "10, 35 s at 12",
    )
    random_rays: int = tuned(64, "directions searched besides the axes and the eigenvectors")
    ascents: int = tuned(8, "of those, the worst, from which a worse one is climbed to")
    steps: int = tuned(60, "of each ascent")


TUNING = TaylorTuning()


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mode"],
    meta_fields=["order", "log_density_function"],
)
@dataclass(frozen=True)
class TaylorExpansion:
    """sum over k up to `order` of d^k/dt^k log q(mode + t (x - mode)) / k! at t = 0.

    Make it with `expand`, which refuses expansions that are not densities. Its integral is not
    known: it joins a Gaussian at the mode to the density (paper, multi-reference TI).
    """

    mode: Float[Array, " dim"]
    order: int
    log_density_function: LogDensity

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The expansion's value at one point."""
        ray = x - self.mode
        return jnp.sum(ray_coefficients(self.log_density_function, self.mode, ray, self.order))


def expand(
    log_density: LogDensity,
    mode: Float[Array, " dim"],
    order: int,
    *,
    scale_tril: Float[Array, "dim dim"] | None = None,
) -> TaylorExpansion:
    """The Taylor expansion of a log density around its mode, once found to be integrable.

    Args:
        log_density: the log density of unconstrained coordinates.
        mode: where to expand.
        order: 4, 6, 8 or 10; order 2 is the Gaussian at the mode.
        scale_tril: a factor of the covariance, in whose units directions are judged; else the
            curvature at the mode gives the units.

    Raises:
        ReferenceFitError: the density has no derivatives at the mode, or the expansion grows
            without bound, or to a far higher peak, along one of the directions searched: the
            axes, the Hessian's eigenvectors, random ones, and the worst of these improved by
            ascent on the highest coefficient.
    """
    fault = fault_of_order(order)
    if fault is not None:
        raise ReferenceFitError(fault)
    mode = jnp.asarray(mode)
    units = np.eye(len(mode)) if scale_tril is None else np.asarray(scale_tril)
    coefficients = partial(ray_coefficients, log_density, mode, order=order)
    jax.eval_shape(coefficients, mode)  # An operation without derivatives is named here.
    whitening = _whitening(log_density, mode, units, order)
    random = np.random.default_rng(0).normal(size=(TUNING.random_rays, len(mode)))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    rays = np.concatenate([units.T, whitening.T, random @ whitening.T])
    over_rays = _batched(coefficients)
    rows = over_rays(rays)
    _require_derivatives(rows, rays)
    _require_fit_nearby(log_density, mode, rows, rays)
    widths = np.linalg.norm(whitening, axis=1)
    _require_integrable(rows, rays / widths)
    ascended = _ascend(coefficients, whitening, rays, rows[:, -1], order)
    _require_integrable(over_rays(ascended), ascended / widths)
    return TaylorExpansion(mode, order, log_density)


def fault_of_order(order: int) -> str | None:
    """What keeps an order from being expanded to, in words, or None."""
    if order % 2 or order < 4:
        return (
            f"A Taylor expansion must be of even order, at least 4; got {order}. "
            "Order 2 is the Gaussian at the mode, and odd orders have no integral."
        )
    if order > TUNING.highest_order:
        possible = ", ".join(map(str, range(4, TUNING.highest_order + 1, 2)))
        return (
            f"A Taylor expansion must be of order {possible}; got {order}. Compiling takes about "
            "twice as long for every two orders more, and no time limit can interrupt it."
        )
    return None


def restore(arrays: Mapping[str, np.ndarray], model: Model) -> TaylorExpansion:
    """The expansion of a model's density that has given arrays, without searching it again."""
    with jax.enable_x64(True):
        mode = jnp.asarray(arrays["mode"], jnp.float64)
    return TaylorExpansion(mode, int(arrays["order"]), model.log_density)


def _batched(function: Callable[[Array], Array]) -> Callable[[np.ndarray], np.ndarray]:
    """The function over many rows, in blocks of one size: one program, and bounded memory."""
    run, size = _compiled_quickly(jax.vmap(function)), 16

    def over(rows: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, "row ..."]:
        padded = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % size, axis=0)])
        blocks = [np.asarray(run(block)) for block in np.split(padded, len(padded) // size)]
        return np.concatenate(blocks)[: len(rows)]

    return over


def _compiled_quickly(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function compiled with little care for its speed: each is run a few times only."""
    return jax.jit(function, compiler_options=QUICK_COMPILE)


def _whitening(
    log_density: LogDensity, mode: Float[Array, " dim"], units: np.ndarray, order: int
) -> Float[np.ndarray, "dim dim"]:
    """Columns along the Hessian's eigenvectors, each as long as the density is wide there."""
    value = float(log_density(mode))
    if not np.isfinite(value):
        raise ReferenceFitError(
            f"The log density at the mode must be finite; got {value}. "
            "Give a mode inside the support."
        )
    hessian = np.asarray(_compiled_quickly(jax.hessian(log_density))(mode))
    finite = np.isfinite(hessian).all(axis=0)
    if not finite.all():
        raise ReferenceFitError(_no_derivatives(order, int(finite.argmin())))
    curvatures, vectors = np.linalg.eigh(-units.T @ hessian @ units)
    has_width = curvatures > TUNING.rounding * np.max(np.abs(curvatures))
    return units @ vectors / np.sqrt(np.where(has_width, curvatures, 1.0))


def _ascend(
    coefficients: Callable[[Array], Array],
    whitening: Float[np.ndarray, "dim dim"],
    rays: Float[np.ndarray, "ray dim"],
    tops: Float[np.ndarray, " ray"],
    order: int,
) -> Float[np.ndarray, "worst dim"]:
    """The rays of highest top coefficient, moved to where it is higher still, at equal width."""
    value_and_slope = jax.value_and_grad(lambda u: coefficients(whitening @ u)[-1])

    def climb(start: Float[Array, " dim"]) -> Float[Array, " dim"]:
        def step(_: Int[Array, ""], state: tuple[Array, Array, Array, Array]) -> tuple[Array, ...]:
            u, top, slope, length = state
            along = slope - jnp.dot(slope, u) * u
            trial = u + length * along / (jnp.linalg.norm(along) + jnp.finfo(u.dtype).tiny)
            trial /= jnp.linalg.norm(trial)
            trial_top, trial_slope = value_and_slope(trial)
            better = trial_top > top
            return (
                jnp.where(better, trial, u),
                jnp.where(better, trial_top, top),
                jnp.where(better, trial_slope, slope),
                length * jnp.where(better, 1.5, 0.5),
            )

        # From a height below all others, the first step only finds the height of the start.
        state = (start, jnp.array(-jnp.inf), jnp.zeros_like(start), jnp.array(0.2))
        return jax.lax.fori_loop(0, TUNING.steps, step, state)[0]

    starts = np.linalg.solve(whitening, rays.T).T
    lengths = np.linalg.norm(starts, axis=1)
    worst = np.argsort(tops / lengths**order)[-TUNING.ascents :]
    starts = starts[worst] / lengths[worst, None]
    return np.asarray(_compiled_quickly(jax.vmap(climb))(starts)) @ whitening.T


def _require_derivatives(
    rows: Float[np.ndarray, "ray term"], rays: Float[np.ndarray, "ray dim"]
) -> None:
    """Raises ReferenceFitError if a derivative along a ray is infinite or not a number."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        parameter = int(np.argmax(np.abs(rays[finite.argmin()])))
        raise ReferenceFitError(_no_derivatives(rows.shape[1] - 1, parameter))


def _require_fit_nearby(
    log_density: LogDensity,
    mode: Float[Array, " dim"],
    rows: Float[np.ndarray, "ray term"],
    rays: Float[np.ndarray, "ray dim"],
) -> None:
    """Raises ReferenceFitError if along a ray the expansion leaves the density at once.

    Such is a kink: JAX gives |x| the derivative 0 or 1 at x = 0, as if it were smooth.
    """
    near = np.array([0.01 * _radius(row) for row in rows])
    near[~np.isfinite(near)] = 0.0
    steps = np.stack([near, -near])
    expected = np.sum(rows * steps[..., None] ** np.arange(rows.shape[1]), axis=-1)
    points = np.asarray(mode) + steps[..., None] * rays
    actual = _batched(log_density)(points.reshape(-1, len(mode))).reshape(steps.shape)
    misfit = np.max(np.abs(actual - expected) / (1e-6 + 1e-12 * np.abs(expected)), axis=0)
    if not np.all(misfit <= 1):
        parameter = int(np.argmax(np.abs(rays[misfit.argmax()])))
        raise ReferenceFitError(_no_derivatives(rows.shape[1] - 1, parameter))


def _require_integrable(
    rows: Float[np.ndarray, "ray term"], rays: Float[np.ndarray, "ray dim"]
) -> None:
    """Raises ReferenceFitError if along a ray the expansion has no integral near the mode."""
    order = rows.shape[1] - 1
    for row, parameter in zip(rows, np.argmax(np.abs(rays), axis=1), strict=True):
        fault = _growth(row)
        if fault is not None:
            raise ReferenceFitError(
                f"The Taylor expansion of order {order} cannot be a density: along a direction "
                f"led by parameter {parameter} {fault}. Use another order, or a "
                "sampled-covariance reference instead."
            )


def _growth(row: Float[np.ndarray, " term"]) -> str | None:
    """What keeps the polynomial along a ray from being a log density around the mode, if any."""
    radius = _radius(row)
    if not np.isfinite(radius):
        return "it is constant"
    scaled = row * radius ** np.arange(len(row))
    scaled[0] = 0.0
    scaled[np.abs(scaled) < TUNING.rounding] = 0.0
    degree = int(np.flatnonzero(scaled)[-1])
    if degree % 2 or scaled[degree] > 0:
        return (
            "it grows without bound; expected a highest term of even degree and negative, got "
            f"degree {degree} with coefficient {row[degree]:.3g}"
        )
    turns = np.roots(np.polyder(scaled[degree::-1]))
    turns = turns[np.abs(turns.imag) < 1e-6 * (1 + np.abs(turns.real))].real
    climb = max(np.polyval(scaled[::-1], turns), default=0.0)
    if climb > TUNING.highest_climb:
        return (
            f"it climbs {climb:.3g} nats above the mode; expected at most {TUNING.highest_climb:g}"
        )
    return None


def _radius(row: Float[np.ndarray, " term"]) -> float:
    """How far along the ray the first of the terms reaches one nat."""
    terms = [abs(c) ** (-1 / k) for k, c in enumerate(row) if k and c]
    return float(min(terms, default=np.inf))


def _no_derivatives(order: int, parameter: int) -> str:
    return (
        f"The log density has no derivatives up to order {order} at the mode, along a direction "
        f"led by parameter {parameter}: it has a cusp, a kink or an edge there. Use a "
        "sampled-covariance reference instead, or expand the smooth part of the density."
    )
