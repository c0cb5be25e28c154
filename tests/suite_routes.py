"""Routes to the evidence of a target of the suite that are not the one by which it was stated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import refti
from refti import suite
from refti.models.density import QUICK_COMPILE
from targets import LOG_2_PI, grid

POINTS = 7
Route = Callable[[suite.Target], float]
# Most of these tests is compiling, and each program runs once.
compiled = partial(jax.jit, compiler_options=QUICK_COMPILE)


def points(target: suite.Target, scale: float = 0.5) -> np.ndarray:
    """A few places about the start."""
    noise = np.random.default_rng(0).normal(scale=scale, size=(POINTS, target.dim))
    return target.model().start + noise


def at(function: Callable[[jax.Array], jax.Array], x: np.ndarray) -> np.ndarray:
    """A function's values at points [n, dim], compiled as one."""
    return np.asarray(compiled(jax.vmap(function))(jnp.asarray(x)))


def expansion(model: refti.Model, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The log density, its gradient and minus its Hessian at a point."""

    @compiled
    def both(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        density = model.density.log_density
        return jax.value_and_grad(density)(x), jax.hessian(density)(x)

    (value, slope), hessian = both(jnp.asarray(x))
    return float(value), np.asarray(slope), -np.asarray(hessian)


def compared(log_normalised: Callable[[np.ndarray], float]) -> Route:
    """log z from a normalised log density of unconstrained x, the same at every point."""

    def route(target: suite.Target) -> float:
        x = points(target)
        values = at(target.model().log_density, x)
        return settled(values - [log_normalised(one) for one in x])

    return route


def compared_on_support(
    log_normalised: Callable[[dict[str, np.ndarray]], float],
    free: Callable[[dict[str, jax.Array]], jax.Array],
) -> Route:
    """log z from a normalised log density of the parameters, whose free coordinates are given."""

    def route(target: suite.Target) -> float:
        model, x = target.model(), points(target)
        volumes = np.linalg.slogdet(at(jax.jacfwd(lambda u: free(model.constrain(u))), x))[1]
        constrained = compiled(jax.vmap(model.constrain))(jnp.asarray(x))
        normalised = [
            log_normalised({name: np.asarray(value[i]) for name, value in constrained.items()})
            for i in range(len(x))
        ]
        return settled(at(model.log_density, x) - normalised - volumes)

    return route


def settled(values: np.ndarray) -> float:
    """The common value of estimates that must not depend on the point."""
    assert np.ptp(values) < 1e-8 * max(1.0, abs(values[0])), values
    return float(np.median(values))


def by_grid(low: list[float], high: list[float], count: int) -> Route:
    """log z by the trapezoid rule over a box of unconstrained coordinates."""

    def route(target: suite.Target) -> float:
        model = target.model()
        return grid(model.log_density, np.array(low), np.array(high), count).log_integral

    return route


def by_curvature(target: suite.Target) -> float:
    """log z of a Gaussian from its own value, slope and curvature at any point."""
    model = target.model()
    value, slope, precision = expansion(model, model.start)
    volume = 0.5 * (target.dim * LOG_2_PI - np.linalg.slogdet(precision)[1])
    return value + 0.5 * slope @ np.linalg.solve(precision, slope) + volume


def drawn_bananas(target: suite.Target) -> float:
    """log z from exact draws: turned back, their normalised density is that of normals."""
    pairs = target.dim // 2
    scale, width = np.linspace(2.0, 1.0, pairs), np.linspace(0.6, 0.9, pairs)
    curvature = np.linspace(0.3, 0.6, pairs)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(target.dim, target.dim)))[0]
    rng = np.random.default_rng(1)
    a, e = rng.normal(0.5, scale, (POINTS, pairs)), rng.normal(0, width, (POINTS, pairs))
    x = np.concatenate([a, curvature * (a**2 - scale**2) + e], axis=1) @ turn
    drawn = stats.norm(0.5, scale).logpdf(a) + stats.norm(0, width).logpdf(e)
    return settled(at(target.model().log_density, x) - drawn.sum(axis=1))
