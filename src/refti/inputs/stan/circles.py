"""Densities given each other in a circle, of which the text does not tell that they are a prior.

`x ~ normal(q, 1); q ~ normal(x, 1);` is a density for each of the two, and yet their product does
not fall where x and q grow together. Elements drawn given earlier ones of the same parameter, as in
`x[t] ~ normal(x[t - 1], s);`, are no circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from refti.inputs.stan import declarations, syntax
from refti.inputs.stan.factors import Code, Factor
from refti.inputs.stan.numbers import whole
from refti.inputs.stan.ranks import rank
from refti.inputs.stan.syntax import Tokens

Step = Literal["earlier", "same", "any"]


@dataclass(frozen=True)
class Given:
    """That a parameter is drawn given another, or given other elements of itself.

    Attributes:
        drawn: the one that is drawn.
        given: the other.
        steps: by dimension, whether the element that is given is before the one that is drawn.
    """

    drawn: str
    given: str
    steps: tuple[Step, ...]


def in_circles(
    code: Code, drawn: Mapping[str, Iterable[Factor]], known: Mapping[str, Any]
) -> set[str]:
    """The parameters that are drawn given each other, or themselves, in a circle."""
    every = [
        one
        for name, factors in drawn.items()
        for factor in factors
        for one in _given(code, name, factor, known)
    ]
    reached = _reached(every)
    inner = [one for one in every if one.drawn in reached[one.given]]
    return {
        one.drawn
        for one in inner
        if not _goes_on([o for o in inner if o.drawn in reached[one.drawn] | {one.drawn}])
    }


def _goes_on(every: list[Given]) -> bool:
    """Whether all elements of a circle come after those given, so that it is a chain in time."""
    for place in range(max(len(one.steps) for one in every)):
        steps = [one.steps[place] if place < len(one.steps) else "any" for one in every]
        at_once = [one for one, step in zip(every, steps, strict=True) if step == "same"]
        if "any" not in steps and not any(n in more for n, more in _reached(at_once).items()):
            return True
    return False


def _reached(every: list[Given]) -> dict[str, set[str]]:
    """By parameter, all those that it is drawn given, and those that these are drawn given."""
    found: dict[str, set[str]] = {name: set() for one in every for name in (one.drawn, one.given)}
    for one in every:
        found[one.drawn].add(one.given)
    for middle in found:
        for more in found.values():
            if middle in more:
                more |= found[middle]
    return found


def _given(code: Code, name: str, factor: Factor, known: Mapping[str, Any]) -> Iterator[Given]:
    """What a density of a parameter is given."""
    left = factor.lefts[0]
    drawn = _parts(left[1:]) if left[:1] == (name,) else []
    loops = {loop.variable for loop in factor.loops}
    for argument in factor.arguments:
        each = _is_of_each(code, argument)
        for place, token in enumerate(argument):
            if token in code.parameters:
                given = _parts(argument[place + 1 :])
                steps = [
                    _step(one or (), other or (), loops, known, each=each)
                    for one, other in zip_longest(drawn, given)
                ]
                yield Given(name, token, tuple(steps))
            elif token in code.assigned:
                for other in code.sources((token,)) & set(code.parameters):
                    yield Given(name, other, ())
    for side in ("lower", "upper"):
        for other in code.sources(code.parameters[name].bounds.get(side, ())):
            if other in code.parameters:
                yield Given(name, other, ())


def _parts(after: Tokens) -> list[Tokens]:
    """The parts of the index that stands right after a name."""
    if after[:1] != ("[",):
        return []
    return syntax.split(declarations.bracketed(list(after))[0], ",")


def _is_of_each(code: Code, argument: Tokens) -> bool:
    """Whether each element of an argument is made of the elements at its place, and no others."""
    plain = [n for n in syntax.without_indices(argument) if n.isidentifier()]
    ranks = [rank((name,), code) for name in plain]
    return "'" not in argument and all(one is not None and one < 2 for one in ranks)


def _step(
    drawn: Tokens, given: Tokens, loops: set[str], known: Mapping[str, Any], *, each: bool
) -> Step:
    if not drawn or not given:
        return "any"
    first, last = (_bare(syntax.split(drawn, ":")[end]) for end in (0, -1))
    begin, end = (_bare(syntax.split(given, ":")[end]) for end in (0, -1))
    if first == last and begin == end == first and (first[0] in loops or whole(first, known)):
        return "same"
    if _is_before(end, first, loops, known):
        return "earlier"
    is_range = ":" in drawn and ":" in given
    begins = whole(first or ("1",), known), whole(begin or ("1",), known)
    is_later = None not in begins and (begins[1] or 0) < (begins[0] or 0)
    return "earlier" if each and is_range and is_later else "any"


def _is_before(one: Tokens, other: Tokens, loops: set[str], known: Mapping[str, Any]) -> bool:
    """Whether an index is below another, which is a number or the variable of a loop."""
    numbers = whole(one, known), whole(other, known)
    if None not in numbers:
        return (numbers[0] or 0) < (numbers[1] or 0)
    is_back = len(one) == 3 and one[1] == "-" and (whole(one[2:], known) or 0) > 0
    return len(other) == 1 and other[0] in loops and one[:1] == other and is_back


def _bare(part: Tokens) -> Tokens:
    """An expression without the brackets about it."""
    while len(part) > 2 and part[0] == "(" and part[-1] == ")":
        part = part[1:-1]
    return part
