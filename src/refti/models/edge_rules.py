"""Edge rules: what operations leave of edge forms, one rule an operation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.models.edge_forms import (
    ABOVE_ZERO,
    BELOW_ONE,
    GUARD,
    TINY,
    Key,
    Logarithm,
    Tracked,
    negated,
    scaled,
    share,
    shifted,
    without_constant,
)

Rule = Callable[[Any, list[Tracked]], list[Tracked] | None]


def bind(equation: Any, values: list[Any]) -> list[Any]:
    """What an equation gives for plain values."""
    parameters = equation.primitive.get_bind_params(equation.params)
    with equation.ctx.manager:  # such as the precision of its products
        found = equation.primitive.bind(*values, **parameters)
    return list(found) if equation.primitive.multiple_results else [found]


def _same_elements(equation: Any, given: list[Tracked]) -> list[Tracked] | None:
    """Of an operation that only moves elements about."""
    first, rest = given[0], [one.value for one in given[1:]]
    if not (first.forms or first.known or first.owners.size) or _loses_digits(equation):
        return None
    values, owners = bind(equation, [first.value, *rest]), _moved_owners(equation, given)

    def moved(log: Logarithm, place: int) -> Logarithm:
        return lambda: bind(equation, [log(), *rest])[place]

    return [
        Tracked(
            value,
            {key: moved(log, place) for key, log in first.forms.items()},
            first.known,
            first.is_share,
            owners[place],
        )
        for place, value in enumerate(values)
    ]


def _loses_digits(equation: Any) -> bool:
    went, came = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
    return went != came and came != np.float64


def _moved_owners(equation: Any, given: list[Tracked]) -> list[np.ndarray]:
    """The owners of each element where they are known so, else all of them."""
    owners = given[0].owners
    if owners.size and owners.shape == jnp.shape(given[0].value) and len(given) == 1:
        if equation.primitive.name == "convert_element_type":
            return [owners]
        with jax.ensure_compile_time_eval():
            return [np.asarray(ids) for ids in bind(equation, [jnp.asarray(owners)])]
    return [np.unique(owners)] * len(equation.outvars)


def _joined(equation: Any, given: list[Tracked], *, others: int = 0) -> list[Tracked] | None:
    """Of an operation that takes each element from one of its arguments, after the others."""
    before, parts = [one.value for one in given[:others]], given[others:]
    tracked = [part for part in parts if part.forms]
    if not tracked:
        return None
    (value,) = bind(equation, [one.value for one in given])

    def joined(logs: list[Logarithm]) -> Logarithm:
        return lambda: bind(equation, [*before, *(log() for log in logs)])[0]

    forms: dict[Key, Logarithm] = {}
    for key in tracked[0].forms:
        logs = [part.logarithm_of(key) for part in parts]
        if all(log is not None for log in logs):
            forms[key] = joined([log for log in logs if log is not None])
    if all(part.lies_in_shares for part in parts):
        return [share(value, forms)]
    return [Tracked(value, forms)]


def _sum(equation: Any, given: list[Tracked], *, sign: int = 1) -> list[Tracked] | None:
    """Of a sum or difference with a constant."""
    left, right = given
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
    plain = Tracked(
        value, _fitted(forms, value), None if known is None else (known, known), is_rest
    )
    constants = [one.uniform for one in given if one.uniform is not None]
    return [plain if 0.0 in constants or known is not None else without_constant(plain)]


def _negative(equation: Any, given: list[Tracked]) -> list[Tracked] | None:
    known = None if given[0].known is None else (-given[0].known[1], -given[0].known[0])
    return [Tracked(-given[0].value, negated(given[0].forms), known)]


def _product(equation: Any, given: list[Tracked], *, power: int = 1) -> list[Tracked] | None:
    """Of a product, or of a quotient where the power of the second factor is -1."""
    left, right = given
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
        rests = [one.logarithm_of(BELOW_ONE) for one in given]
        if is_share and all(rests):
            # 1 - (1 - a) (1 - b) = a + (1 - a) b, without a difference
            forms[BELOW_ONE] = lambda: jnp.logaddexp(rests[0](), first() + rests[1]())  # type: ignore[misc]
    if known is None and not forms:
        return None
    (value,) = bind(equation, [left.value, right.value])
    forms = _fitted(forms, value)
    return [share(value, forms) if is_share else Tracked(value, forms, known)]


def _power(equation: Any, given: list[Tracked], *, exponent: float | None) -> list[Tracked] | None:
    """Of a power of something above zero."""
    log = given[0].forms.get(ABOVE_ZERO)
    if log is None:
        return None
    times = given[1].value if len(given) > 1 else equation.params.get("y", exponent)
    (value,) = bind(equation, [one.value for one in given])
    return [Tracked(value, _fitted({ABOVE_ZERO: lambda: log() * times}, value))]


def _running_product(equation: Any, given: list[Tracked]) -> list[Tracked] | None:
    log = given[0].forms.get(ABOVE_ZERO)
    if log is None:
        return None
    (value,) = bind(equation, [given[0].value])
    parameters = equation.params
    forms = {ABOVE_ZERO: lambda: jax.lax.cumsum(log(), **parameters)}
    return [share(value, forms) if given[0].is_share else Tracked(value, forms)]


def _log(equation: Any, given: list[Tracked], *, plus: float = 0.0) -> list[Tracked] | None:
    """The logarithm itself, where it is exactly known."""
    forms = given[0].forms if plus == 0 else shifted(given[0].forms, plus)
    log = forms.get(ABOVE_ZERO)
    return None if log is None else [Tracked(jnp.broadcast_to(log(), jnp.shape(given[0].value)))]


def _comparison(
    equation: Any, given: list[Tracked], *, compare: Callable[[Any, Any], Any]
) -> list[Tracked] | None:
    """Of a comparison with a bound, which a value never reaches however near it is rounded to."""
    left, right = given
    if right.uniform is None and left.uniform is not None and right.forms:
        forms = negated(shifted(right.forms, -left.uniform))
    elif right.uniform is not None and left.forms:
        forms = shifted(left.forms, -right.uniform)
    else:
        return None
    sign = next((side for bound, side in forms if bound == 0), None)
    if sign is None:
        return None
    return [Tracked(jnp.full(equation.outvars[0].aval.shape, compare(sign, 0)))]


def _guard(equation: Any, given: list[Tracked], *, side: int) -> list[Tracked] | None:
    """Of a limit that is nearer to a bound than rounding: it guards against what is exact here."""
    limit, bounded = sorted(given, key=lambda one: bool(one.forms))
    if limit.uniform is None:
        return None
    for bound, sign in bounded.forms:
        beyond = side * (limit.uniform - bound)
        if sign == side and beyond <= max(GUARD * abs(bound), TINY):
            (value,) = bind(equation, [one.value for one in given])
            return [Tracked(value, _fitted(bounded.forms, value), None, bounded.is_share)]
    return None


def _fitted(forms: Mapping[Key, Logarithm], value: Any) -> dict[Key, Logarithm]:
    """The forms with logarithms of the value's own shape, for scalars go with any."""

    def fitted(log: Logarithm) -> Logarithm:
        return lambda: jnp.broadcast_to(log(), jnp.shape(value))

    return {key: fitted(log) for key, log in forms.items()}


_MOVED = "broadcast_in_dim reshape squeeze slice transpose rev copy copy_p split dynamic_slice"
RULES: dict[str, Rule] = {
    **dict.fromkeys([*_MOVED.split(), "gather", "convert_element_type"], _same_elements),
    **dict.fromkeys(["concatenate", "stack", "pad"], _joined),
    "select_n": partial(_joined, others=1),
    "add": _sum,
    "add_any": _sum,
    "sub": partial(_sum, sign=-1),
    "neg": _negative,
    "mul": _product,
    "div": partial(_product, power=-1),
    "sqrt": partial(_power, exponent=0.5),
    "rsqrt": partial(_power, exponent=-0.5),
    "square": partial(_power, exponent=2.0),
    **dict.fromkeys(["integer_pow", "pow"], partial(_power, exponent=None)),
    "cumprod": _running_product,
    "log": _log,
    "log1p": partial(_log, plus=1.0),
    **{
        name: partial(_comparison, compare=getattr(operator, name))
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    "max": partial(_guard, side=1),
    "min": partial(_guard, side=-1),
}
