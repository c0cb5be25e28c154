"""Preflight: what must hold of a model before any sampling, all faults told together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refti.errors import ModelError
from refti.models.determinism import require_deterministic
from refti.models.model import Model, ValueAndGradient
from refti.models.rejections import Rejections
from refti.models.solvers import may_solve
from refti.search.tuning import TUNING


def preflight(
    model: Model,
    evaluate: ValueAndGradient,
    rng: np.random.Generator,
    posterior_draws: np.ndarray | None = None,
) -> np.ndarray:
    """Start points x[n, dim] inside the support, best first, after the model was tried at them.

    They are spread about the model's start, or are some of the posterior draws. Raises ModelError
    if the density is not finite at any of them, is not the same when asked again, or has not the
    gradient that it should have.
    """
    candidates = _candidates(model, rng, posterior_draws)
    before = model.rejections()
    values, gradients = evaluate(candidates)
    inside = np.isfinite(values)
    if not inside.any():
        raise ModelError(_nowhere_finite(model, candidates, before))
    starts = candidates[inside][np.argsort(-values[inside])]
    best = np.sort(values[inside])[::-1]
    compared = min(TUNING.compared_points, len(starts))
    if np.isnan(gradients).all():  # known by values alone
        again = model.log_densities(starts[:compared])
        require_deterministic("The log density", best[:compared], again)
        return starts
    faults = []
    if not np.any(gradients[inside] != 0):
        faults.append(
            f"The gradient of the log density is zero or NaN at all {int(inside.sum())} start "
            "points with a finite value: the density is constant, or not differentiable by JAX."
        )
    is_rough = may_solve(model.density, starts[0])
    tolerance = TUNING.compared_tolerance if is_rough else TUNING.plain_tolerance
    # Far from the data a solver may have no digit of a gradient right that is right elsewhere, and
    # Metropolis steps correct for it; a gradient that is right nowhere is worth refusing.
    refused_at = compared if is_rough else 1
    disagreements = []
    for index in range(compared):
        start = _Start(starts[index], best[index])
        starts[index], wrong = _find_believable(evaluate, start, rng, tolerance)
        disagreements += [] if wrong is None else [wrong]
        if len(disagreements) == refused_at:
            faults.append(disagreements[0])
            break
    if faults:
        raise ModelError("\n".join(faults))
    return starts


def _candidates(
    model: Model, rng: np.random.Generator, posterior_draws: np.ndarray | None
) -> np.ndarray:
    """Points x[n, dim] that may be starts."""
    if posterior_draws is not None:
        return posterior_draws[:: -(-len(posterior_draws) // TUNING.start_points)]
    reach = TUNING.start_reach
    offsets = rng.uniform(-reach, reach, (TUNING.start_points - 1, model.dim))
    return np.concatenate([model.start[None], model.start + offsets])


def _nowhere_finite(model: Model, candidates: np.ndarray, before: Rejections | None) -> str:
    """What is wrong with a density that is not finite at any candidate."""
    now = model.rejections()
    new = None if now is None else now.since(before)
    said = f" There {new}." if new is not None else ""
    return (
        f"The log density, or its gradient, is not finite at any of {len(candidates)} start "
        f"points, among them x = {np.array2string(candidates[0], precision=3, threshold=6)} "
        f"(unconstrained).{said} Check the density there, or give start= with values at which "
        "it is finite."
    )


class _Start(NamedTuple):
    """A point, and the log density that was found there before."""

    x: np.ndarray
    log_density: float | None = None


def _find_believable(
    evaluate: ValueAndGradient, start: _Start, rng: np.random.Generator, tolerance: float
) -> tuple[np.ndarray, str | None]:
    """The point, or one beside it, and what is wrong with its gradient there, if it is.

    Derivatives of smooth functions are wrong at single points where they were written by cases,
    such as NumPyro's Bernoulli at a logit of 0: that is no fault, but no place to start either.
    """
    x = start.x
    if _wrong_gradient(evaluate, start, rng, tolerance) is None:
        return x, None
    beside = x + TUNING.beside * np.maximum(1.0, np.abs(x)) * rng.normal(size=x.shape)
    if not np.isfinite(evaluate(beside[None])[0][0]):
        beside = x
    return beside, _wrong_gradient(evaluate, _Start(beside), rng, tolerance)


def _wrong_gradient(
    evaluate: ValueAndGradient, start: _Start, rng: np.random.Generator, tolerance: float
) -> str | None:
    """How the compiled gradient disagrees with central differences along random directions.

    Differences at two steps, and to either side, tell how far they can be believed: at a kink or
    at the edge of the support they disagree with each other and prove nothing. Raises ModelError
    if the density is not what it was before: then there is no gradient to speak of.
    """
    x = start.x
    value, gradient = evaluate(x[None])
    if start.log_density is not None:
        before = np.array([start.log_density])
        require_deterministic("The log density", before, value, TUNING.repeated_tolerance)
    directions = rng.choice([-1.0, 1.0], (TUNING.compared_directions, len(x)))
    slopes = directions @ gradient[0]
    step = TUNING.compared_step * max(1.0, float(np.abs(x).max()))
    coarse, _ = _differences(evaluate, x, value[0], directions, step)
    fine, bend = _differences(evaluate, x, value[0], directions, step / 4)
    rounding = 16 * np.finfo(float).eps * abs(value[0]) / step
    doubt = 10 * np.abs(coarse - fine) + np.abs(bend) + rounding
    allowed = tolerance * np.abs(gradient[0]).sum() + 1e-8 + doubt
    wrong = np.isfinite(doubt) & (np.abs(fine - slopes) > allowed)
    if not wrong.any():
        return None
    worst = int(np.argmax(np.where(wrong, np.abs(fine - slopes), 0)))
    return (
        "The compiled gradient disagrees with central differences at x = "
        f"{np.array2string(x, precision=3, threshold=6)}: {slopes[worst]:.6g} against "
        f"{fine[worst]:.6g} along one direction. Check custom derivatives; on processors with "
        "fused multiply-add, start Python with XLA_FLAGS=--xla_cpu_max_isa=AVX and try again; "
        'for a PyMC model, use refti.from_pymc(model, backend="numba").'
    )


def _differences(
    evaluate: ValueAndGradient, x: np.ndarray, value: float, directions: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Central differences along directions, and how much forward and backward ones disagree."""
    values, _ = evaluate(np.concatenate([x + step * directions, x - step * directions]))
    up, down = np.split(values, 2)
    # Beyond an edge of the support differences are infinite, which is no evidence either way.
    up, down = (np.where(np.isfinite(side), side, np.nan) for side in (up, down))
    return (up - down) / (2 * step), (up - 2 * value + down) / step
