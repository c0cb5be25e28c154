"""Dimensions of an expression of a Stan program: 0 of a number, 1 of a vector, 2 of a matrix.

A density of one number whose arguments are vectors is as many densities as they have elements, and
does not integrate to one: `mu ~ normal(y, 1);` is one for every y.
"""

from __future__ import annotations

from collections.abc import Iterable

from refti.inputs.stan import declarations
from refti.inputs.stan.declarations import Declared
from refti.inputs.stan.factors import LOCAL, Code, Loop
from refti.inputs.stan.syntax import Tokens, is_one_call, split

_KINDS = {"int": 0, "real": 0, "vector": 1, "row_vector": 1, "matrix": 2, "simplex": 1}
_KINDS |= {"ordered": 1, "positive_ordered": 1, "unit_vector": 1, "corr_matrix": 2, "cov_matrix": 2}
_KINDS |= {"cholesky_factor_corr": 2, "cholesky_factor_cov": 2}
# Functions of a vector that give one number, and such as are applied to every element.
_OF_ALL: tuple[str, ...] = (
    "sum",
    "mean",
    "prod",
    "dot_product",
    "dot_self",
    "sd",
    "variance",
    "distance",
)
_OF_ALL += ("num_elements", "size", "rows", "cols", "norm1", "norm2", "log_sum_exp")
_OF_EACH: tuple[str, ...] = (
    "sqrt",
    "exp",
    "log",
    "square",
    "abs",
    "fabs",
    "inv",
    "inv_sqrt",
    "inv_square",
)
_OF_EACH += ("log1p", "expm1", "log1m", "log1p_exp", "logit", "inv_logit", "Phi", "Phi_approx")
_OF_EACH += ("inv_cloglog", "tanh", "sin", "cos", "pow", "fmin", "fmax", "cbrt")


def rank(tokens: Tokens, code: Code, loops: Iterable[Loop] = ()) -> int | None:
    """The dimensions of an expression; None where they cannot be told from here."""
    variables = {loop.variable for loop in loops if loop.first}  # and not the elements of an array
    return _rank(tokens, _declared(code), variables)


def _declared(code: Code) -> dict[str, Declared]:
    """Everything that is declared, by name, the local variables of the model among it."""
    found = {**code.data, **code.parameters}
    for block in LOCAL:
        found |= code.declared(block)
    return found


def _rank(tokens: Tokens, declared: dict[str, Declared], variables: set[str]) -> int | None:
    while tokens and tokens[-1] == "'":
        tokens = tokens[:-1]
    if not tokens:
        return None
    for signs in (("+", "-"), ("*", "/", ".*", "./", "%", "%/%"), ("^", ".^")):
        parts = _operands(tokens, signs)
        if len(parts) > 1:
            return _of_operands(parts, declared, variables)
    if tokens[0] in ("+", "-"):
        return _rank(tokens[1:], declared, variables)
    if tokens[0] == "(" and tokens[-1] == ")":
        return _rank(tokens[1:-1], declared, variables)
    if tokens[0][:1].isdigit() or tokens[0][:1] == ".":
        return 0
    if is_one_call(tokens):
        return _of_call(tokens, declared, variables)
    return _of_name(tokens, declared, variables)


def _of_operands(
    parts: list[tuple[str, Tokens]], declared: dict[str, Declared], variables: set[str]
) -> int | None:
    total: int | None = None
    for sign, part in parts:
        one = _rank(part, declared, variables)
        if one is None:
            return None
        if total is None:
            total = one
        elif sign == "*" and total and one:
            total = total + one - 2  # a row by a column is a number, a matrix by a column a column
        else:
            total = max(total, one)
    return total


def _of_call(tokens: Tokens, declared: dict[str, Declared], variables: set[str]) -> int | None:
    if tokens[0] in _OF_ALL:
        return 0
    if tokens[0] not in _OF_EACH:
        return None
    given = [_rank(part, declared, variables) for part in split(tokens[2:-1], ",")]
    known = [one for one in given if one is not None]
    return max(known) if len(known) == len(given) else None


def _of_name(tokens: Tokens, declared: dict[str, Declared], variables: set[str]) -> int | None:
    name, index = tokens[0], tokens[1:]
    if name in variables and not index:
        return 0
    if name not in declared or declared[name].kind not in _KINDS:
        return None
    found = len(declared[name].array) + _KINDS[declared[name].kind]
    while index:
        if index[0] != "[":
            return None
        inside, index = _bracketed(index)
        for part in split(inside, ","):
            kept = not part or len(split(part, ":")) > 1 or _rank(part, declared, variables) != 0
            found -= not kept
    return found if found >= 0 else None


def _bracketed(tokens: Tokens) -> tuple[Tokens, Tokens]:
    inside, rest = declarations.bracketed(list(tokens))
    return tuple(inside), tuple(rest)


def _operands(tokens: Tokens, signs: tuple[str, ...]) -> list[tuple[str, Tokens]]:
    """The parts between operators of one precedence, each with the operator before it."""
    found: list[tuple[str, list[str]]] = [("", [])]
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token in "([{") - (token in ")]}")
        before = tokens[place - 1] if place else ""
        ends = (
            before.isidentifier() or before[:1].isdigit() or (before[:1] == "." and len(before) > 1)
        )
        if depth == 0 and token in signs and place and (ends or before in ")]}'"):
            found.append((token, []))
        else:
            found[-1][1].append(token)
    return [(sign, tuple(part)) for sign, part in found]
