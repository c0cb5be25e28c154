"""Edge rules: what operations leave of edge forms, one rule an operation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from refti.models.edge_arithmetic import (
    bind,
    fitted,
    negative_rule,
    power_rule,
    product_rule,
    running_product_rule,
    sum_rule,
)
from refti.models.edge_forms import (
    ABOVE_ZERO,
    GUARD,
    TINY,
    Key,
    Logarithm,
    Tracked,
    negated,
    share,
    shifted,
)

Rule = Callable[[Any, list[Tracked]], list[Tracked] | None]


def _same_elements(equation: Any, given: list[Tracked]) -> list[Tracked] | None:
    """Of an operation that only moves elements about."""
    first, rest = given[0], [one.value for one in given[1:]]
    if not (first.forms or first.known) or _loses_digits(equation):
        return None
    if equation.params.get("fill_value") is not None:  # is no logarithm
        return None
    values = bind(equation, [first.value, *rest])

    def moved(log: Logarithm, place: int) -> Logarithm:
        return lambda: bind(equation, [log(), *rest])[place]

    return [
        Tracked(
            value,
            {key: moved(log, place) for key, log in first.forms.items()},
            first.known,
            first.is_share,
        )
        for place, value in enumerate(values)
    ]


def _loses_digits(equation: Any) -> bool:
    went, came = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
    return went != came and came != np.float64


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
    inside, at_bound = compare(sign, 0), compare(0, 0)
    found = jnp.full(equation.outvars[0].aval.shape, inside)
    if inside != at_bound:  # where a mask, such as exp(-inf), has put it
        found = jnp.where(jnp.isneginf(forms[0.0, sign]()), at_bound, found)
    return [Tracked(found)]


def _guard(equation: Any, given: list[Tracked], *, side: int) -> list[Tracked] | None:
    """Of a limit that is nearer to a bound than rounding: it guards against what is exact here."""
    limit, bounded = sorted(given, key=lambda one: bool(one.forms))
    if limit.uniform is None:
        return None
    for (bound, sign), log in bounded.forms.items():
        beyond = side * (limit.uniform - bound)
        if sign == side and beyond <= max(GUARD * abs(bound), TINY):
            (value,) = bind(equation, [one.value for one in given])
            forms = {
                **bounded.forms,
                (bound, sign): _off_bound(log, beyond if beyond > 0 else TINY),
            }
            return [Tracked(value, fitted(forms, value), None, bounded.is_share)]
    return None


def _off_bound(log: Logarithm, distance: float) -> Logarithm:
    """The logarithm of a distance that is no less than so much where it was nothing at all."""
    return lambda: jnp.where(jnp.isneginf(log()), np.log(distance), log())


_MOVED = "broadcast_in_dim reshape squeeze slice transpose rev copy copy_p split dynamic_slice"
RULES: dict[str, Rule] = {
    **dict.fromkeys([*_MOVED.split(), "gather", "convert_element_type"], _same_elements),
    **dict.fromkeys(["concatenate", "stack", "pad"], _joined),
    "select_n": partial(_joined, others=1),
    "add": sum_rule,
    "add_any": sum_rule,
    "sub": partial(sum_rule, sign=-1),
    "neg": negative_rule,
    "mul": product_rule,
    "div": partial(product_rule, power=-1),
    "sqrt": partial(power_rule, exponent=0.5),
    "rsqrt": partial(power_rule, exponent=-0.5),
    "square": partial(power_rule, exponent=2.0),
    **dict.fromkeys(["integer_pow", "pow"], partial(power_rule, exponent=None)),
    "cumprod": running_product_rule,
    "log": _log,
    "log1p": partial(_log, plus=1.0),
    **{
        name: partial(_comparison, compare=getattr(operator, name))
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    "max": partial(_guard, side=1),
    "min": partial(_guard, side=-1),
}
