"""Taylor expansions of a log density around its mode: the stations of a telescopic path.

An expansion needs no derivative tensors. Along the ray from the mode through x the log density
is a function of one variable, whose coefficients follow from the density's own program, one
elementary operation after the other; their sum is the expansion at x, in any dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.jet import jet, jet_rules
from jax.extend.core import Jaxpr, JaxprEqn, Literal
from jaxtyping import Array, Float

from refti.errors import ReferenceFitError

LogDensity = Callable[[Float[Array, " dim"]], Float[Array, ""]]
Series = tuple[Array, ...]
"""A quantity's coefficients along the ray; one alone is a quantity that does not move."""

# The highest the expansion may climb above its value at the mode, in nats. A higher peak far
# away is where its mass would be, and no sampler started near the mode would tell.
_HIGHEST_CLIMB = 10.0
# What is left of a coefficient that is zero but for rounding, next to a largest one of 1.
_ROUNDING = 1e-12


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
        order: 4, 6, 8, ...; order 2 is the Gaussian at the mode.
        scale_tril: a factor of the covariance, in whose units directions are judged; else the
            curvature at the mode gives the units.

    Raises:
        ReferenceFitError: the density has no derivatives at the mode, or the expansion grows
            without bound, or to a far higher peak, along one of the directions searched: the
            axes, the Hessian's eigenvectors, random ones, and the worst of these improved by
            ascent on the highest coefficient.
    """
    if order % 2 or order < 4:
        raise ReferenceFitError(
            f"A Taylor expansion must be of even order, at least 4; got {order}. "
            "Order 2 is the Gaussian at the mode, and odd orders have no integral."
        )
    mode = jnp.asarray(mode)
    units = np.eye(len(mode)) if scale_tril is None else np.asarray(scale_tril)
    coefficients = partial(ray_coefficients, log_density, mode, order=order)
    jax.eval_shape(coefficients, mode)  # An operation without derivatives is named here.
    whitening = _whitening(log_density, mode, units, order)
    random = np.random.default_rng(0).normal(size=(64, len(mode)))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    rays = np.concatenate([units.T, whitening.T, random @ whitening.T])
    over_rays = _batched(coefficients)
    rows = over_rays(rays)
    _refuse_cusp(rows, rays)
    _refuse_misfit(log_density, mode, rows, rays)
    ascended = _ascend(coefficients, whitening, rays, rows[:, -1], order)
    rays, rows = np.concatenate([rays, ascended]), np.concatenate([rows, over_rays(ascended)])
    widths = np.linalg.norm(whitening, axis=1)
    for ray, row in zip(rays, rows, strict=True):
        _refuse_growth(row, int(np.argmax(np.abs(ray) / widths)))
    return TaylorExpansion(mode, order, log_density)


def ray_coefficients(
    log_density: LogDensity,
    mode: Float[Array, " dim"],
    ray: Float[Array, " dim"],
    order: int,
) -> Float[Array, " term"]:
    """The Taylor coefficients in t of log_density(mode + t ray), from order 0 to `order`."""
    program = jax.make_jaxpr(log_density)(mode)
    moving = (mode, ray, *[jnp.zeros_like(ray)] * (order - 1))
    (series,) = _propagate(program.jaxpr, program.consts, [moving], order)
    return jnp.stack(_pad(series, order))


def _batched(function: Callable[[Array], Array]) -> Callable[[np.ndarray], np.ndarray]:
    """The function over many rows, in blocks of one size: one program, and bounded memory."""
    run, size = jax.jit(jax.vmap(function)), 16

    def over(rows: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, "row ..."]:
        padded = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % size, axis=0)])
        blocks = [np.asarray(run(block)) for block in np.split(padded, len(padded) // size)]
        return np.concatenate(blocks)[: len(rows)]

    return over


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
    hessian = np.asarray(jax.jit(jax.hessian(log_density))(mode))
    finite = np.isfinite(hessian).all(axis=0)
    if not finite.all():
        raise ReferenceFitError(_no_derivatives(order, int(finite.argmin())))
    curvatures, vectors = np.linalg.eigh(-units.T @ hessian @ units)
    has_width = curvatures > _ROUNDING * np.max(np.abs(curvatures))
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
        def step(_: int, state: tuple[Array, Array, Array, Array]) -> tuple[Array, ...]:
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

        return jax.lax.fori_loop(0, 60, step, (start, *value_and_slope(start), jnp.array(0.3)))[0]

    starts = np.linalg.solve(whitening, rays.T).T
    lengths = np.linalg.norm(starts, axis=1)
    worst = np.argsort(tops / lengths**order)[-8:]
    starts = starts[worst] / lengths[worst, None]
    return np.asarray(jax.jit(jax.vmap(climb))(starts)) @ whitening.T


def _refuse_cusp(rows: Float[np.ndarray, "ray term"], rays: Float[np.ndarray, "ray dim"]) -> None:
    """Refuse a ray along which a derivative is infinite or not a number."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        parameter = int(np.argmax(np.abs(rays[finite.argmin()])))
        raise ReferenceFitError(_no_derivatives(rows.shape[1] - 1, parameter))


def _refuse_misfit(
    log_density: LogDensity,
    mode: Float[Array, " dim"],
    rows: Float[np.ndarray, "ray term"],
    rays: Float[np.ndarray, "ray dim"],
) -> None:
    """Refuse a ray along which the expansion leaves the density at once.

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


def _refuse_growth(row: Float[np.ndarray, " term"], parameter: int) -> None:
    """Refuse a ray along which the expansion has no integral, or none near the mode."""
    radius, order = _radius(row), len(row) - 1
    place = f"The Taylor expansion of order {order} cannot be a density: along a direction led by"
    advice = "Use another order, or a sampled-covariance reference instead."
    if not np.isfinite(radius):
        raise ReferenceFitError(f"{place} parameter {parameter} it is constant. {advice}")
    scaled = row * radius ** np.arange(order + 1)
    scaled[0] = 0.0
    scaled[np.abs(scaled) < _ROUNDING] = 0.0
    degree = int(np.flatnonzero(scaled)[-1])
    if degree % 2 or scaled[degree] > 0:
        raise ReferenceFitError(
            f"{place} parameter {parameter} it grows without bound; expected a highest term of "
            f"even degree and negative, got degree {degree} with coefficient {row[degree]:.3g}. "
            f"{advice}"
        )
    turns = np.roots(np.polyder(scaled[degree::-1]))
    turns = turns[np.abs(turns.imag) < 1e-6 * (1 + np.abs(turns.real))].real
    climb = max(np.polyval(scaled[::-1], turns), default=0.0)
    if climb > _HIGHEST_CLIMB:
        raise ReferenceFitError(
            f"{place} parameter {parameter} it climbs {climb:.3g} nats above the mode; "
            f"expected at most {_HIGHEST_CLIMB:g}. {advice}"
        )


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


# From here on: Taylor arithmetic. A program is run on series in the place of numbers.

# Rules of jet that lose digits of the value itself (log1p as log(1 + x), erfc as 1 - erf, ...),
# are NaN where the function is not (pow of a negative number), or fail (clamp; max or min of an
# array and a number). These go by the primitive's derivative, as those without a rule do.
_LOSSY = {"log1p", "expm1", "erfc", "tanh", "asinh", "acosh", "atanh"}
_WORSE_BY_JET = _LOSSY | {"pow", "rem", "clamp", "max", "min"}
_CALLS = {"jit", "pjit", "closed_call", "remat2", "checkpoint", "custom_vjp_call"}


def _propagate(
    jaxpr: Jaxpr, constants: list[Any], inputs: list[Series], order: int
) -> list[Series]:
    """The series of a program's outputs, from those of its inputs."""
    known: dict[Any, Series] = {v: (c,) for v, c in zip(jaxpr.constvars, constants, strict=True)}
    known.update(zip(jaxpr.invars, inputs, strict=True))

    def read(atom: Any) -> Series:
        return (atom.val,) if isinstance(atom, Literal) else known[atom]

    for equation in _live(jaxpr):
        outputs = _apply(equation, [read(atom) for atom in equation.invars], order)
        known.update(zip(equation.outvars, outputs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _live(jaxpr: Jaxpr) -> list[JaxprEqn]:
    """The equations that the outputs depend on; those of a derivative are fewer than all."""
    wanted = {atom for atom in jaxpr.outvars if not isinstance(atom, Literal)}
    live = []
    for equation in reversed(jaxpr.eqns):
        if wanted.intersection(equation.outvars):
            live.append(equation)
            wanted.update(a for a in equation.invars if not isinstance(a, Literal))
    return live[::-1]


def _apply(equation: JaxprEqn, inputs: list[Series], order: int) -> list[Series]:
    """The series of one operation's outputs."""
    name, parameters = equation.primitive.name, equation.params
    moves = [len(series) > 1 for series in inputs]
    smooth = [_is_smooth(variable.aval) for variable in equation.outvars]
    if not any(moves) or not any(smooth):
        return [(value,) for value in _bind(equation, [series[0] for series in inputs])]
    if name in _CALLS:
        inner = parameters["call_jaxpr" if "call_jaxpr" in parameters else "jaxpr"]
        constants = getattr(inner, "consts", [])
        return _propagate(getattr(inner, "jaxpr", inner), constants, inputs, order)
    if name == "scan":
        return _scan(parameters, inputs, order)
    if name == "cond":
        return _cond(parameters, inputs, order)
    if name == "pow" and (power := _whole_number(inputs[1])) is not None:
        return _by_jet(lambda base: [jax.lax.integer_pow(base, power)], inputs[:1])

    def function(*moving: Array) -> list[Array]:
        rest = iter(moving)
        arguments = [next(rest) if m else s[0] for m, s in zip(moves, inputs, strict=True)]
        return list(compress(_bind(equation, arguments), smooth))

    moving = list(compress(inputs, moves))
    if equation.primitive in jet_rules and name not in _WORSE_BY_JET:
        series = iter(_by_jet(function, moving))
    else:
        series = iter(_by_derivative(function, moving, order, name))
    if all(smooth):
        return list(series)
    values = _bind(equation, [series[0] for series in inputs])
    return [next(series) if s else (value,) for s, value in zip(smooth, values, strict=True)]


def _bind(equation: JaxprEqn, values: list[Any]) -> list[Array]:
    primitive = equation.primitive
    outputs = primitive.bind(*values, **primitive.get_bind_params(equation.params))
    return list(outputs) if primitive.multiple_results else [outputs]


def _by_jet(function: Callable[..., list[Array]], inputs: list[Series]) -> list[Series]:
    values, rests = [s[0] for s in inputs], [list(s[1:]) for s in inputs]
    firsts, rests = jet(function, values, rests, factorial_scaled=False)
    return [(first, *rest) for first, rest in zip(firsts, rests, strict=True)]


def _by_derivative(
    function: Callable[..., list[Array]], inputs: list[Series], order: int, name: str
) -> list[Series]:
    """The series of f(u(t)) by integrating that of f'(u(t)) u'(t), which is one order shorter.

    Serves every primitive that JAX can differentiate, and obeys custom derivatives.
    """

    def slope(values: list[Array], rates: list[Array]) -> list[Array]:
        return jax.jvp(function, values, rates)[1]

    values = [series[0] for series in inputs]
    rates = [tuple(k * c for k, c in enumerate(series) if k) for series in inputs]
    try:
        program = jax.make_jaxpr(slope)(values, [rate[0] for rate in rates])
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ReferenceFitError(
            f'The log density uses the operation "{name}", which JAX cannot differentiate: '
            f"{str(error).splitlines()[0]} Use a sampled-covariance reference instead."
        ) from error
    shorter = [series[:order] for series in inputs] + rates
    slopes = _propagate(program.jaxpr, program.consts, shorter, order - 1)
    return [
        (value, *(c / k for k, c in enumerate(_pad(s, order - 1), start=1)))
        for value, s in zip(function(*values), slopes, strict=True)
    ]


def _scan(parameters: dict[str, Any], inputs: list[Series], order: int) -> list[Series]:
    body, fixed = parameters["jaxpr"], inputs[: parameters["num_consts"]]
    start = len(fixed) + parameters["num_carry"]

    def step(carry: list[Series], row: list[Series]) -> tuple[list[Series], list[Series]]:
        outputs = _propagate(body.jaxpr, body.consts, [*fixed, *carry, *row], order)
        count = len(carry)
        return [_pad_smooth(s, order) for s in outputs[:count]], outputs[count:]

    # What is carried may begin at rest and move later: its series is kept whole throughout.
    carry = [_pad_smooth(s, order) for s in inputs[len(fixed) : start]]
    options = {key: parameters[key] for key in ("length", "reverse", "unroll")}
    carry, rows = jax.lax.scan(step, carry, inputs[start:], **options)
    return [*carry, *rows]


def _cond(parameters: dict[str, Any], inputs: list[Series], order: int) -> list[Series]:
    def run(branch: Any, operands: list[Series]) -> list[Series]:
        outputs = _propagate(branch.jaxpr, branch.consts, operands, order)
        return [_pad_smooth(s, order) for s in outputs]

    branches = [partial(run, branch) for branch in parameters["branches"]]
    return jax.lax.switch(inputs[0][0], branches, inputs[1:])


def _pad(series: Series, order: int) -> Series:
    return (*series, *[jnp.zeros_like(series[0])] * (order + 1 - len(series)))


def _pad_smooth(series: Series, order: int) -> Series:
    return _pad(series, order) if _is_smooth(jax.typeof(series[0])) else series


def _is_smooth(abstract_value: Any) -> bool:
    return jnp.issubdtype(abstract_value.dtype, jnp.inexact)


def _whole_number(exponent: Series) -> int | None:
    """The exponent if it is known to be whole: a power of zero then has derivatives too."""
    known = len(exponent) == 1 and not isinstance(exponent[0], jax.core.Tracer)
    if known and np.size(exponent[0]) == 1 and float(exponent[0]).is_integer():
        return int(exponent[0])
    return None
