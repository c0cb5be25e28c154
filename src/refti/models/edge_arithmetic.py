"""Edge arithmetic: the forms of sums and products with constants, of products and powers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from refti.models.edge_forms import (
    ABOVE_ZERO,
    BELOW_ONE,
    Key,
    Logarithm,
    Tracked,
    negated,
    scaled,
    share,
    shifted,
    without_constant,
)


def bind(equation: Any, values: list[Any]) -> list[Any]:
    """What an equation gives for plain values."""
    parameters = equation.primitive.get_bind_params(equation.params)
    with equation.ctx.manager:  # such as the precision of its products
        found = equation.primitive.bind(*values, **parameters)
    return list(found) if equation.primitive.multiple_results else [found]


def sum_rule(equation: Any, given: list[Tracked], *, sign: int = 1) -> list[Tracked] | None:
    """Of a sum or difference with a constant."""
    left, right = given
    if not has_all_digits(equation):
        return None
    forms: Mapping[Key, Logarithm] = {}
    known = None
    if left.uniform is not None and right.uniform is not None:
        known = left.uniform + sign * right.uniform
    elif right.uniform is not None and left.forms:
        forms = shifted(left.forms, sign * right.uniform)
    elif left.uniform is not None and right.forms:
        forms = shifted(right.forms if sign > 0 else negated(right.forms), left.uniform)
    else:
        return None
    (value,) = bind(equation, [left.value, right.value])
    is_rest = sign < 0 and left.uniform == 1 and right.is_share
    plain = Tracked(value, fitted(forms, value), None if known is None else (known, known), is_rest)
    constants = [one.uniform for one in given if one.uniform is not None]
    return [plain if 0.0 in constants or known is not None else without_constant(plain)]


def negative_rule(equation: Any, given: list[Tracked]) -> list[Tracked] | None:
    """Of a change of sign."""
    if not has_all_digits(equation):
        return None
    known = None if given[0].known is None else (-given[0].known[1], -given[0].known[0])
    return [Tracked(-given[0].value, negated(given[0].forms), known)]


def product_rule(equation: Any, given: list[Tracked], *, power: int = 1) -> list[Tracked] | None:
    """Of a product, or of a quotient where the power of the second factor is -1."""
    left, right = given
    if not has_all_digits(equation):
        return None
    known: tuple[float, float] | None = None
    forms: dict[Key, Logarithm] = {}
    is_share = False
    if left.uniform is not None and right.uniform is not None and right.uniform != 0:
        known = (left.uniform * right.uniform**power,) * 2
    elif left.forms and right.known is not None:
        forms = scaled(left.forms, right, power)
    elif right.forms and left.known is not None and power == 1:
        forms = scaled(right.forms, left, 1)
    elif left.logarithm is not None and right.logarithm is not None:
        first, second = left.logarithm, right.logarithm
        forms = {ABOVE_ZERO: lambda: first() + power * second()}
        is_share = power == 1 and left.lies_in_shares and right.lies_in_shares
        rests = [log for log in (one.logarithm_of(BELOW_ONE) for one in given) if log is not None]
        if is_share and len(rests) == len(given):
            forms[BELOW_ONE] = _rest_of_product(first, *rests)
    if known is None and not forms:
        return None
    (value,) = bind(equation, [left.value, right.value])
    forms = fitted(forms, value)
    return [share(value, forms) if is_share else Tracked(value, forms, known)]


def power_rule(
    equation: Any, given: list[Tracked], *, exponent: float | None
) -> list[Tracked] | None:
    """Of a power of something above zero."""
    log = given[0].forms.get(ABOVE_ZERO)
    if log is None:
        return None
    times = given[1].value if len(given) > 1 else equation.params.get("y", exponent)
    (value,) = bind(equation, [one.value for one in given])
    # Of zero itself, which a mask may have made, the power 0 is one.
    power = {ABOVE_ZERO: lambda: jnp.where(jnp.equal(times, 0), 0.0, log() * times)}
    return [Tracked(value, fitted(power, value))]


def running_product_rule(equation: Any, given: list[Tracked]) -> list[Tracked] | None:
    """Of the products of the first elements, as sticks are broken."""
    log = given[0].forms.get(ABOVE_ZERO)
    if log is None:
        return None
    (value,) = bind(equation, [given[0].value])
    parameters = equation.params
    forms = {ABOVE_ZERO: lambda: jax.lax.cumsum(log(), **parameters)}
    return [share(value, forms) if given[0].is_share else Tracked(value, forms)]


def _rest_of_product(log: Logarithm, rest: Logarithm, other_rest: Logarithm) -> Logarithm:
    """The logarithm of 1 - (1 - a) (1 - b) = a + (1 - a) b, without a difference."""
    # Not by logaddexp, whose own derivative would tell this program from any other.
    return lambda: jax.nn.logsumexp(jnp.stack([rest(), log() + other_rest()]), axis=0)


def has_all_digits(equation: Any) -> bool:
    """Whether an equation computes in 64 bits, as bounds are known."""
    return all(variable.aval.dtype == jnp.float64 for variable in equation.outvars)


def fitted(forms: Mapping[Key, Logarithm], value: Any) -> dict[Key, Logarithm]:
    """The forms with logarithms of the value's own shape, for scalars go with any."""

    def broadcast(log: Logarithm) -> Logarithm:
        return lambda: jnp.broadcast_to(log(), jnp.shape(value))

    return {key: broadcast(log) for key, log in forms.items()}
