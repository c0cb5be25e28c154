"""Declarations of a Stan program: kinds, sizes and bounds as they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refti.inputs.stan.syntax import CLOSING, OPENING, Tokens, split

# A flat density over these is proper: they are bounded.
BOUNDED_KINDS = (
    *("simplex", "unit_vector", "corr_matrix", "cholesky_factor_corr"),
    *("column_stochastic_matrix", "row_stochastic_matrix"),
)


@dataclass(frozen=True)
class Declared:
    """A variable as it is declared.

    Attributes:
        name: of the variable.
        kind: such as "real", "vector" or "simplex".
        array: the sizes of the array that it is; none where it is no array.
        sizes: those of the kind itself, such as the two of a matrix.
        bounds: "lower", "upper", "offset" and "multiplier", those that there are.
        value: what it is set to where it is declared.
    """

    name: str
    kind: str
    array: tuple[Tokens, ...]
    sizes: tuple[Tokens, ...]
    bounds: Mapping[str, Tokens]
    value: Tokens = ()

    @property
    def is_bounded(self) -> bool:
        """Whether a flat density over its values has a finite integral."""
        return self.kind in BOUNDED_KINDS or {"lower", "upper"} <= set(self.bounds)

    @property
    def all_sizes(self) -> tuple[Tokens, ...]:
        """The sizes of its value, in the order of its dimensions."""
        square = ("corr_matrix", "cov_matrix", "cholesky_factor_corr")
        sizes = self.sizes * 2 if self.kind in square else self.sizes
        if self.kind == "cholesky_factor_cov" and len(sizes) == 1:
            sizes = sizes * 2
        return (*self.array, *sizes)


def parse(tokens: Sequence[str]) -> list[Declared]:
    """The variables of a declaration; several that share a type stand in one."""
    rest = list(tokens)
    array: tuple[Tokens, ...] = ()
    if rest[0] == "array":
        inside, rest = bracketed(rest[1:])
        array = tuple(split(inside, ","))
    kind, rest = rest[0], rest[1:]
    bounds: dict[str, Tokens] = {}
    if kind == "tuple":
        _, rest = bracketed(rest)
    if rest and rest[0] == "<":
        end = _end_of_bounds(rest)
        for part in split(rest[1:end], ","):
            bounds[part[0]] = part[2:]
        rest = rest[end + 1 :]
    sizes: tuple[Tokens, ...] = ()
    if rest and rest[0] == "[":
        inside, rest = bracketed(rest)
        sizes = tuple(split(inside, ","))
    found = []
    for one in split(rest, ","):
        if one:
            value = one[2:] if len(one) > 2 and one[1] == "=" else ()
            found.append(Declared(one[0], kind, array, sizes, bounds, value))
    return found


def bracketed(tokens: list[str]) -> tuple[list[str], list[str]]:
    """What stands in the bracket that the tokens begin with, and what comes after it."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token in OPENING) - (token in CLOSING)
        if depth == 0:
            return tokens[1:place], tokens[place + 1 :]
    return tokens[1:], []


def _end_of_bounds(tokens: list[str]) -> int:
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token in OPENING) - (token in CLOSING)
        if token == ">" and depth == 0:
            return place
    return len(tokens) - 1
