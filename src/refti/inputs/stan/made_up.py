"""What a program adds to a density that a bound cuts off: a constant, or the mass that is left.

`target += normal_lpdf(tau | 0, 1) - normal_lccdf(0 | 0, 1);` divides by what is left above zero,
and `+ log(2)` does the same by hand. One such term is of one density: a vector of three elements
wants it three times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import exp, log, prod
from typing import Any

from refti.inputs.stan.cut_priors import frozen
from refti.inputs.stan.declarations import Declared
from refti.inputs.stan.factors import Factor
from refti.inputs.stan.numbers import number, whole
from refti.inputs.stan.syntax import Tokens, is_one_call, split

_MASS = re.compile(r"(\w+)_(lccdf|lcdf)$")


def constants(factor: Factor, known: Mapping[str, Any]) -> float | None:
    """What stands beside a density over all turns of its loops; None where that is not known."""
    if not factor.beside:
        return 0.0
    turns = _turns(factor, known)
    values = [_value(term, known) for _, term in factor.beside]
    found = [value for value in values if value is not None]
    if turns is None or len(found) < len(values):
        return None
    signs = [-1.0 if sign == "-" else 1.0 for sign, _ in factor.beside]
    return turns * sum(sign * value for sign, value in zip(signs, found, strict=True))


def is_truncated(
    factor: Factor, declared: Declared, count: int | None, known: Mapping[str, Any]
) -> bool:
    """Whether a density is divided by what its parameter's bounds leave of it, once an element."""
    turns = _turns(factor, known)
    if len(factor.beside) != 1 or factor.beside[0][0] != "-" or turns is None or count is None:
        return False
    times, term = _multiplied(factor.beside[0][1], known)
    own = tuple(declared.bounds.get(side, ()) for side in ("lower", "upper"))
    return times * turns == count and _mass_of(term, factor) == own


def _mass_of(term: Tokens, factor: Factor) -> tuple[Tokens, Tokens] | None:
    """The bounds between which a term is the mass of the factor's own distribution."""
    if not is_one_call(term):
        return None
    if term[0] == "log_diff_exp":
        above, below = (_mass_of(part, factor) for part in split(term[2:-1], ","))
        both = above is not None and below is not None and not above[0] and not below[0]
        return (below[1], above[1]) if both and below is not None and above is not None else None
    named = _MASS.match(term[0])
    given = split(term[2:-1], "|")
    if not named or named[1] != factor.distribution or len(given) > 2:
        return None
    arguments = tuple(split(given[1], ",")) if len(given) == 2 else ()
    if arguments != factor.arguments:
        return None
    return (given[0], ()) if named[2] == "lccdf" else ((), given[0])


def _value(term: Tokens, known: Mapping[str, Any]) -> float | None:
    """The value of a constant, or of the log of a mass."""
    plain = number(term, known)
    if plain is not None:
        return float(plain)
    times, call = _multiplied(term, known)
    if not is_one_call(call):
        return None
    if call[0] == "log_diff_exp":
        parts = [_value(part, known) for part in split(call[2:-1], ",")]
        above, below = parts if len(parts) == 2 else (None, None)
        if above is None or below is None or above <= below:
            return None
        return times * log(exp(above) - exp(below))
    named, given = _MASS.match(call[0]), split(call[2:-1], "|")
    at = number(given[0], known)
    arguments = split(given[1], ",") if len(given) == 2 else []
    made = frozen(named[1], arguments, known) if named else None
    if named is None or made is None or at is None:
        return None
    return times * float(made.logsf(at) if named[2] == "lccdf" else made.logcdf(at))


def _multiplied(term: Tokens, known: Mapping[str, Any]) -> tuple[float, Tokens]:
    """A number before or after a sign of multiplication, and what it multiplies."""
    parts = split(term, "*")
    if len(parts) == 2:
        for one, other in (parts, parts[::-1]):
            times = number(one, known)
            if times is not None:
                return float(times), other
    return 1.0, term


def _turns(factor: Factor, known: Mapping[str, Any]) -> int | None:
    """How often a statement is come to in the loops about it."""
    lengths = [
        (whole(loop.first, known), whole(loop.last, known)) if loop.first else (None, None)
        for loop in factor.loops
    ]
    if any(first is None or last is None for first, last in lengths):
        return None
    return prod(max(0, (last or 0) - (first or 0) + 1) for first, last in lengths)
