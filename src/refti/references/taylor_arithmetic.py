"""Taylor arithmetic: a density's program run on series along a ray in the place of numbers.

JAX's own Taylor mode (jet) has no rule for many operations and loses digits in some; those go by
the operation's derivative instead, whose series is one order shorter and is integrated.
"""

from __future__ import annotations

from collections.abc import Callable
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
Series = tuple[Any, ...]
"""Arrays, a quantity's coefficients along the ray; one alone is a quantity that does not move."""

# Rules of jet that lose digits of the value itself (log1p as log(1 + x), erfc as 1 - erf, ...),
# are NaN where the function is not (pow of a negative number), or fail (clamp; max or min of an
# array and a number). These go by the primitive's derivative, as those without a rule do.
_LOSSY = {"log1p", "expm1", "erfc", "tanh", "asinh", "acosh", "atanh"}
_WORSE_BY_JET = _LOSSY | {"pow", "rem", "clamp", "max", "min"}
_CALLS = {"jit", "pjit", "closed_call", "remat2", "checkpoint", "custom_vjp_call"}


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
