"""Fitting references: each family from what the pilot knows of the posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from refti.errors import ReferenceFitError
from refti.models.model import Model, ValueAndGradient
from refti.references.base import Reference
from refti.references.covariance import shrunk_factor
from refti.references.flow import Flow, fit_flow
from refti.references.gaussian import Gaussian, gaussian
from refti.references.low_rank import LowRank, fit_low_rank
from refti.references.mixture import Mixture, fit_mixture
from refti.references.student import Student, fit_student
from refti.references.truncated import TruncatedGaussian
from refti.references.warped import Warped, fit_warped
from refti.search.mode import Mode

LEVEL_DRAWS = 32
Levelled = TypeVar("Levelled", Warped, Student, Mixture, LowRank, Flow)

Family = Literal[
    "laplace",
    "covariance",
    "diagonal",
    "variational",
    "variational_diagonal",
    "truncated",
    "warped",
    "student",
    "mixture",
    "low_rank",
    "flow",
]
FAMILIES: tuple[str, ...] = get_args(Family)


def placeholder(family: str, model: Model) -> Reference:
    """A member of the family before it is fitted, so that its program can be compiled once."""
    zeros, ones = np.zeros(model.dim), np.ones(model.dim)
    if family == "truncated":
        return truncated_at(model, zeros, ones, *bounds(model), 0.0)
    if family.endswith("diagonal"):
        return gaussian(zeros, ones, 0.0)
    return gaussian(zeros, np.eye(model.dim), 0.0)


def fitted(
    family: str,
    model: Model,
    evaluate: ValueAndGradient,
    mode: Callable[[], Mode],
    draws: Callable[[], np.ndarray],
    seed: int,
    *,
    base: Callable[[], np.ndarray | None] = lambda: None,
    peaks: Callable[[], np.ndarray | None] = lambda: None,
) -> Reference:
    """The reference of a family fitted to the posterior; only what it needs is looked up.

    `base` is a factor that makes the posterior about round, `peaks` its modes x[mode, dim] where
    there are several.
    """
    match family:
        case "laplace":
            return taylor_at_mode(mode())
        case "auto" | "covariance":
            return sampled_covariance(draws(), evaluate, base=base())
        case "diagonal":
            return sampled_covariance(draws(), evaluate, diagonal=True)
        case "variational":
            start = sampled_covariance(draws(), evaluate, base=base())
            return variational(start, evaluate, seed=seed)
        case "variational_diagonal":
            start = sampled_covariance(draws(), evaluate, diagonal=True)
            return variational(start, evaluate, diagonal=True, seed=seed)
        case "truncated":
            return truncated(model, draws(), evaluate)
        case "warped":
            return _levelled(fit_warped(draws(), base()), draws(), evaluate)
        case "student":
            return _levelled(fit_student(draws(), base()), draws(), evaluate)
        case "mixture":
            heights, _ = evaluate(draws())
            return _levelled(fit_mixture(draws(), peaks(), heights), draws(), evaluate)
        case "low_rank":
            return _levelled(fit_low_rank(draws()), draws(), evaluate)
        case "flow":
            return _levelled(fit_flow(draws(), seed), draws(), evaluate)
    raise ReferenceFitError(f"There is no reference family {family!r}.")


def taylor_at_mode(mode: Mode) -> Gaussian:
    """The Gaussian of the second-order expansion at the mode (paper, section 2.1)."""
    if not mode.is_smooth:
        raise ReferenceFitError(
            "The Taylor reference needs second derivatives at the mode, and the log density has "
            "none there: its curvature depends on the step it is measured with (a cusp, a kink or "
            "an edge of the support). Use reference='covariance'."
        )
    factor = mode.factor()
    if factor is None:
        largest = np.linalg.eigvalsh(mode.hessian)[-1]
        raise ReferenceFitError(
            "The Taylor reference needs a negative definite Hessian at the mode; its largest "
            f"eigenvalue is {largest:.3g}. Use reference='covariance'."
        )
    return gaussian(mode.x, factor, mode.log_density)


def sampled_covariance(
    draws: np.ndarray,
    evaluate: ValueAndGradient,
    *,
    diagonal: bool = False,
    base: np.ndarray | None = None,
) -> Gaussian:
    """The Gaussian of the draws' mean and covariance (paper, section 2.2).

    With few draws for the dimension the covariance is shrunk; `base` is a factor that may be
    close to it.
    """
    _refuse_constant(draws)
    if diagonal:
        mean = draws.mean(axis=0)
        return gaussian(mean, draws.std(axis=0), _height(evaluate, mean))
    mean, factor = shrunk_factor(draws, base)
    return gaussian(mean, factor, _height(evaluate, mean))


def variational(
    start: Gaussian, evaluate: ValueAndGradient, *, diagonal: bool = False, seed: int = 0
) -> Gaussian:
    """The Gaussian that maximises log z_ref + E_ref[log q / q_ref] (paper, section 2.3).

    The expectation is over one fixed set of standard normal draws, in coordinates whitened by the
    start, and L-BFGS climbs the resulting smooth function. With too few draws for the dimension
    some direction would escape them, hence their number.
    """
    dim = len(start.mean)
    noise = np.random.default_rng(seed).normal(size=(max(128, 4 * dim), dim))
    noise = np.concatenate([noise, -noise])
    if not diagonal:
        # Exactly white draws: otherwise their sampled covariance would be mistaken for the fit's.
        noise = noise @ np.linalg.inv(np.linalg.cholesky(noise.T @ noise / len(noise))).T
    else:
        noise = noise / noise.std(axis=0)
    origin = np.asarray(start.mean)
    outer = np.asarray(start.factor)
    outer = np.diag(outer) if outer.ndim == 1 else outer
    rows, columns = np.diag_indices(dim) if diagonal else np.tril_indices(dim)
    on_diagonal = rows == columns

    def unpack(free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inner = np.zeros((dim, dim))
        inner[rows, columns] = np.where(on_diagonal, np.exp(free[dim:]), free[dim:])
        return free[:dim], inner

    def negative_bound(free: np.ndarray) -> tuple[float, np.ndarray]:
        shift, inner = unpack(free)
        values, gradients = evaluate(origin + (shift + noise @ inner.T) @ outer.T)
        if not np.all(np.isfinite(values)):
            return np.inf, np.zeros_like(free)
        gradients = gradients @ outer
        slope = (gradients.T @ noise / len(noise))[rows, columns]
        slope = np.where(on_diagonal, slope * np.exp(free[dim:]) + 1.0, slope)
        bound = values.mean() + free[dim:][on_diagonal].sum()
        return -bound, -np.concatenate([gradients.mean(axis=0), slope])

    free = np.zeros(dim + len(rows))
    if not np.isfinite(negative_bound(free)[0]):
        raise ReferenceFitError(
            "The variational reference maximises an expectation over the whole of a Gaussian, and "
            "the density is zero on a part of it. Declare the bound as a support, such as "
            "refti.positive(), or use reference='covariance'."
        )
    found = optimize.minimize(
        negative_bound, free, jac=True, method="L-BFGS-B", options={"maxiter": 200, "maxcor": 20}
    )
    shift, inner = unpack(found.x)
    mean, factor = origin + outer @ shift, outer @ inner
    if diagonal:
        return gaussian(mean, np.diag(factor), _height(evaluate, mean))
    return gaussian(mean, factor, _height(evaluate, mean))


def truncated(model: Model, draws: np.ndarray, evaluate: ValueAndGradient) -> TruncatedGaussian:
    """The diagonal Gaussian of the constrained draws, cut at the parameters' bounds."""
    lower, upper = bounds(model)
    space = model.supported_space
    theta, _ = (np.asarray(a) for a in jax.jit(jax.vmap(space.constrain_flat))(jnp.asarray(draws)))
    _refuse_constant(theta)
    mean, scale = theta.mean(axis=0), theta.std(axis=0)
    x = np.asarray(jax.jit(space.unconstrain_flat)(jnp.asarray(mean)))
    jacobian = float(jax.jit(space.constrain_flat)(jnp.asarray(x))[1])
    height = _height(evaluate, x) - jacobian
    return truncated_at(model, mean, scale, lower, upper, height)


def truncated_at(
    model: Model,
    mean: np.ndarray,
    scale: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    log_height: float,
) -> TruncatedGaussian:
    """The truncated Gaussian of given moments, in the constrained space of a model."""
    return TruncatedGaussian(
        jnp.asarray(mean),
        jnp.asarray(scale),
        jnp.asarray(lower),
        jnp.asarray(upper),
        jnp.asarray(log_height),
        model.supported_space.constrain_flat,
        model.supported_space.unconstrain_flat,
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


def _refuse_constant(draws: np.ndarray) -> None:
    varying = np.ptp(draws, axis=0) > 0
    if not np.all(varying):
        raise ReferenceFitError(
            f"A covariance needs draws that differ in every coordinate; got {len(draws)} draws, "
            f"{int(varying.sum())} of {len(varying)} coordinates varying."
        )


def _levelled(reference: Levelled, draws: np.ndarray, evaluate: ValueAndGradient) -> Levelled:
    """The reference with about the posterior's own log z, so that delta is about zero.

    Any level gives the same estimate; this one is that of a Gaussian of the draws' variances.
    """
    dim = draws.shape[1]
    heights, _ = evaluate(draws[:: -(-len(draws) // LEVEL_DRAWS)])
    heights = heights[np.isfinite(heights)]
    entropy = 0.5 * dim * (1 + np.log(2 * np.pi)) + np.log(draws.std(axis=0)).sum()
    level = float(heights.mean() + entropy) if len(heights) else 0.0
    return replace(reference, log_z=np.asarray(level))  # type: ignore[arg-type]


def _height(evaluate: ValueAndGradient, x: np.ndarray) -> float:
    """log q at the reference's centre, as in the paper, or 0 where the density is zero there."""
    value, _ = evaluate(x[None])
    return float(value[0]) if np.isfinite(value[0]) else 0.0
