"""Edge forms: an array of a program, and what is known of its distance to bounds to all digits.

A form (c, s) of a value says that it is c + s exp(L), with the sign s = 1 or -1 and L exact. The
logistic function has two: (0, 1) with its logarithm, and (1, -1) with that of its distance to one.
Where a difference such as 1 - p takes the constant c away, what is left is exp(L), and no digits
are lost; the logarithm of that is L itself, however small exp(L) may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

Key = tuple[float, int]
Logarithm = Callable[[], Array]  # made only where it is asked for, so that programs stay small
ABOVE_ZERO, BELOW_ONE = (0.0, 1), (1.0, -1)
TINY = 1e-290  # far below what is told from zero next to anything else
GUARD = 4 * float(np.finfo(np.float64).eps)  # relative; constants computed in two ways differ so


@dataclass(frozen=True, eq=False)
class Tracked:
    """An array of a program.

    Attributes:
        value: the array.
        forms: the logarithm L of each form that is known.
        known: the least and the greatest element of a constant; None of what is computed.
        is_share: whether every element is known to lie between 0 and 1.
    """

    value: Any
    forms: Mapping[Key, Logarithm] = field(default_factory=dict)
    known: tuple[float, float] | None = None
    is_share: bool = False

    def __post_init__(self) -> None:
        # A form may be asked for many times over, and every form of others that it is made of.
        object.__setattr__(self, "forms", {key: cache(log) for key, log in self.forms.items()})

    @property
    def uniform(self) -> float | None:
        """The one finite number that all elements are, or None."""
        if self.known is None or self.known[0] != self.known[1] or not np.isfinite(self.known[0]):
            return None
        return self.known[0]

    @property
    def logarithm(self) -> Logarithm | None:
        """The exact logarithm, where it is known."""
        if self.known is not None and self.known[0] > 0 and self.known[1] < np.inf:
            return lambda: jnp.log(jnp.asarray(self.value))
        return self.forms.get(ABOVE_ZERO)

    def logarithm_of(self, key: Key) -> Logarithm | None:
        """The logarithm of a form, which constants have too where they have one."""
        if key == BELOW_ONE and self.uniform == 1:
            return lambda: jnp.full(jnp.shape(self.value), -jnp.inf)
        return self.logarithm if key == ABOVE_ZERO else self.forms.get(key)

    @property
    def lies_in_shares(self) -> bool:
        """Whether every element lies between 0 and 1, that of a constant too."""
        return self.is_share or (
            self.known is not None and self.known[0] >= 0 and self.known[1] <= 1
        )


def constant(value: Any) -> Tracked:
    """The tracked value of an array that is there already."""
    if not jnp.issubdtype(jnp.result_type(value), jnp.number) or jnp.iscomplexobj(value):
        return Tracked(value)
    array = np.asarray(value)
    if array.size == 0:
        return Tracked(value)
    return Tracked(value, known=(float(array.min()), float(array.max())))


def share(value: Any, forms: Mapping[Key, Logarithm]) -> Tracked:
    """A value between 0 and 1, whose distance to one follows from its logarithm."""
    log = forms.get(ABOVE_ZERO)
    if log is not None and BELOW_ONE not in forms:
        forms = {**forms, BELOW_ONE: lambda: _log_of_the_rest(log())}
    return Tracked(value, forms, is_share=True)


def shifted(forms: Mapping[Key, Logarithm], by: float) -> dict[Key, Logarithm]:
    """The forms of a value plus a constant."""
    found = {}
    for (bound, sign), log in forms.items():
        moved = bound + by
        found[0.0 if abs(moved) <= GUARD * abs(by) else moved, sign] = log
    return found


def negated(forms: Mapping[Key, Logarithm]) -> dict[Key, Logarithm]:
    """The forms of a value with the other sign."""
    return {(0.0 - bound, -sign): log for (bound, sign), log in forms.items()}


def scaled(forms: Mapping[Key, Logarithm], factor: Tracked, power: int) -> dict[Key, Logarithm]:
    """The forms of a value times a constant, or over it where the power is -1."""
    assert factor.known is not None
    low, high = factor.known
    if low <= 0 <= high or not np.isfinite([low, high]).all():
        return {}
    sign = 1 if low > 0 else -1

    def times(log: Logarithm) -> Logarithm:
        return lambda: log() + power * jnp.log(jnp.abs(jnp.asarray(factor.value)))

    return {
        (bound * low**power, side * sign): times(log)
        for (bound, side), log in forms.items()
        if bound == 0 or low == high
    }


def without_constant(tracked: Tracked) -> Tracked:
    """A difference by its exact form, where a bound was taken away from a value."""
    for sign in (1, -1):
        log = tracked.forms.get((0.0, sign))
        if log is not None:
            return replace(tracked, value=sign * jnp.exp(log()))
    return tracked


def _log_of_the_rest(log: Array) -> Array:
    """log(1 - exp(log)), to all digits at both ends."""
    log = jnp.minimum(log, -TINY)  # where even the logarithm is rounded to zero
    near_one = log > -np.log(2)
    return jnp.where(
        near_one,
        jnp.log(-jnp.expm1(jnp.where(near_one, log, -1.0))),
        jnp.log1p(-jnp.exp(jnp.where(near_one, -1.0, log))),
    )
