"""Numbers in the text of a Stan program: constant expressions, with data where they are known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from math import exp, lgamma, log, sqrt
from typing import Any

import numpy as np

from refti.inputs.stan.syntax import Tokens, is_one_call, split

_BINARY: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.truediv, "%": operator.mod, "%/%": operator.floordiv},
    {"^": operator.pow},
)
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": sqrt,
    "exp": exp,
    "log": log,
    "lgamma": lgamma,
    "abs": abs,
    "square": lambda x: x * x,
}
_SIZES: dict[str, Callable[[Any], int]] = {
    "num_elements": np.size,
    "size": lambda x: len(x),
    "rows": lambda x: len(x),
}


def number(tokens: Sequence[str], known: Mapping[str, Any]) -> float | int | None:
    """The value of a constant expression; None where it is no number that can be told from here.

    Args:
        tokens: the expression.
        known: data by name.
    """
    try:
        value = _value(tuple(tokens), known, 0)
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError):
        return None
    return value if isinstance(value, int | float) else None


def whole(tokens: Sequence[str], known: Mapping[str, Any]) -> int | None:
    """The value of a constant expression that is a whole number."""
    value = number(tokens, known)
    return int(value) if value is not None and value == round(value) else None


def _value(tokens: Tokens, known: Mapping[str, Any], level: int) -> Any:
    if not tokens:
        raise ValueError("no expression")
    if level == len(_BINARY):
        return _atom(tokens, known)
    signs = _BINARY[level]
    depth = 0
    for place in range(len(tokens) - 1, 0, -1):  # from the right: 3 - 2 - 1 is (3 - 2) - 1
        token = tokens[place]
        depth += (token in ")]}") - (token in "([{")
        if depth == 0 and token in signs and _is_operand_end(tokens[place - 1]):
            left = _value(tokens[:place], known, level)
            right = _value(tokens[place + 1 :], known, level + 1)
            both_whole = isinstance(left, int) and isinstance(right, int)
            if token == "/" and both_whole:
                return int(left / right)  # as Stan divides them
            return signs[token](left, right)
    if level == 0 and tokens[0] in ("-", "+"):
        value = _value(tokens[1:], known, 0)
        return -value if tokens[0] == "-" else value
    return _value(tokens, known, level + 1)


def _atom(tokens: Tokens, known: Mapping[str, Any]) -> Any:
    if tokens[0] == "(" and tokens[-1] == ")":
        return _value(tokens[1:-1], known, 0)
    if tokens[0] in ("-", "+"):
        value = _value(tokens[1:], known, 1)
        return -value if tokens[0] == "-" else value
    if is_one_call(tokens):
        arguments = split(tokens[2:-1], ",")
        if tokens[0] in _SIZES and len(arguments) == 1:
            return int(_SIZES[tokens[0]](known[arguments[0][0]]))
        return float(_FUNCTIONS[tokens[0]](*(_value(part, known, 0) for part in arguments)))
    if len(tokens) != 1:
        raise ValueError(" ".join(tokens))
    (token,) = tokens
    if token.isidentifier():
        value = known[token]
        return value if isinstance(value, int | float) else _scalar(value)
    return int(token) if token.isdigit() else float(token)


def _scalar(value: Any) -> int | float:
    array = np.asarray(value)
    if array.ndim != 0 or array.dtype.kind not in "iuf":
        raise ValueError("no single number")
    return int(array) if array.dtype.kind in "iu" else float(array)


def _is_operand_end(token: str) -> bool:
    return token.isidentifier() or token[:1].isdigit() or token[:1] == "." or token in ")]'"
