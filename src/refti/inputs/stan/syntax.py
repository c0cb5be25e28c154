"""The syntax of a Stan program as stanc prints it: blocks, declarations and statements.

stanc's canonical form has braces about every body, so that a statement begins after a brace or a
semicolon and ends with the next one. No more is known of the language here than what that takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Tokens = tuple[str, ...]
Kind = Literal["declare", "assign", "draw", "target", "call", "open", "close"]

_TOKEN = re.compile(
    r'"[^"]*"|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\w+'
    r"|\.\*=|\./=|\.\*|\./|\.\^|%/%|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|\S"
)
_COMMENT = re.compile(r'("[^"]*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_BLOCK = re.compile(
    r"\b(functions|transformed\s+data|data|transformed\s+parameters|parameters|model"
    r"|generated\s+quantities)\s*\{"
)
_ASSIGNING = ("=", "+=", "-=", "*=", "/=", ".*=", "./=")
_SIZED = ("array", "vector", "row_vector", "matrix", "simplex", "unit_vector", "ordered")
_TYPES = (
    *_SIZED,
    *("int", "real", "complex", "positive_ordered", "corr_matrix", "cov_matrix"),
    *("cholesky_factor_corr", "cholesky_factor_cov", "column_stochastic_matrix"),
    *("row_stochastic_matrix", "sum_to_zero_vector", "sum_to_zero_matrix", "tuple"),
    *("complex_vector", "complex_matrix", "complex_row_vector", "void"),
)
OPENING, CLOSING = "([{", ")]}"


@dataclass(frozen=True)
class Statement:
    """A statement of a block, or the beginning or the end of a body.

    Attributes:
        kind: what it does.
        tokens: all of it, without the semicolon or the brace.
        left: what is declared, assigned or drawn.
        right: what it is assigned, or what is added to the density.
        place: where it begins in the text of its block, and where it ends.
    """

    kind: Kind
    tokens: Tokens
    left: Tokens = ()
    right: Tokens = ()
    place: tuple[int, int] = (0, 0)


def without_comments(text: str) -> str:
    """The program with spaces where its comments were."""
    return _COMMENT.sub(lambda found: found[1] or " " * len(found[0]), text)


def blocks(text: str) -> dict[str, tuple[int, int]]:
    """Where the inside of each block begins and ends, in a text without comments."""
    found, position = {}, 0
    while match := _BLOCK.search(text, position):
        end = _closing(text, match.end() - 1)
        found[" ".join(match[1].split())] = (match.end(), end)
        position = end + 1
    return found


def statements(text: str) -> list[Statement]:
    """The statements of the inside of a block, in their order, bodies opened and closed."""
    found: list[Statement] = []
    tokens: list[re.Match[str]] = []
    depth = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        # Outside of brackets a brace is that of a body, unless it begins an array in an expression.
        if depth == 0 and sign == "{" and not _expects_value(tokens):
            found.append(_statement(tokens, token, opens=True))
            tokens = []
            continue
        if depth == 0 and sign == "}":
            found.append(Statement("close", (), place=(token.start(), token.end())))
            tokens = []
            continue
        if depth == 0 and sign == ";":
            if tokens:
                found.append(_statement(tokens, token, opens=False))
            tokens = []
            continue
        depth += (sign in OPENING) - (sign in CLOSING)
        tokens.append(token)
    return found


def tokenise(text: str) -> Tokens:
    """The tokens of a piece of a program."""
    return tuple(_TOKEN.findall(text))


def split(tokens: Sequence[str], at: str) -> list[Tokens]:
    """The parts between tokens of one kind, those in brackets left alone."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in OPENING) - (token in CLOSING)
        if token == at and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts]


def terms(tokens: Sequence[str]) -> list[tuple[str, Tokens]]:
    """The signed terms of a sum, such as ("-", ("log", "(", "2", ")"))."""
    found: list[tuple[str, list[str]]] = [("+", [])]
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token in OPENING) - (token in CLOSING)
        binary = place > 0 and (tokens[place - 1].isidentifier() or tokens[place - 1][-1:] in "])'")
        binary = binary or (place > 0 and tokens[place - 1][:1].isdigit())
        if token in "+-" and depth == 0 and binary:
            found.append((token, []))
        else:
            found[-1][1].append(token)
    return [(sign, tuple(term)) for sign, term in found]


def calls(tokens: Sequence[str]) -> Iterator[tuple[str, Tokens]]:
    """Every call in an expression, at whatever depth: the function's name and what it is given."""
    for place, token in enumerate(tokens[:-1]):
        if token.isidentifier() and tokens[place + 1] == "(":
            yield token, tuple(tokens[place + 2 : _end(tokens, place + 1)])


def names(tokens: Sequence[str], *, indices: bool = True) -> set[str]:
    """The names in an expression, of functions too; those in indices only if they are asked for."""
    if not indices:
        tokens = without_indices(tokens)
    return {token for token in tokens if token.isidentifier()}


def without_indices(tokens: Sequence[str]) -> Tokens:
    """An expression in which x[i] is x."""
    kept: list[str] = []
    place = 0
    while place < len(tokens):
        if tokens[place] == "[" and kept and (kept[-1].isidentifier() or kept[-1] in ")]'"):
            place = _end(tokens, place) + 1
            continue
        kept.append(tokens[place])
        place += 1
    return tuple(kept)


def is_one_call(tokens: Sequence[str]) -> bool:
    """Whether an expression is the call of one function and nothing else."""
    begins = len(tokens) > 2 and tokens[0].isidentifier() and tokens[1] == "("
    return begins and _end(tokens, 1) == len(tokens) - 1


def shifted(statement: Statement, by: int) -> Statement:
    """The statement with its place in a text in which its block begins so much later."""
    return replace(statement, place=(statement.place[0] + by, statement.place[1] + by))


def _statement(found: list[re.Match[str]], end: re.Match[str], *, opens: bool) -> Statement:
    tokens = tuple(token[0] for token in found)
    place = (found[0].start() if found else end.start(), end.end())
    if opens:
        return Statement("open", tokens, place=place)
    if tokens[0] in _TYPES:  # whose bounds have signs of their own
        return Statement("declare", tokens, place=place)
    if tokens[:2] in (("target", "+="), ("jacobian", "+=")):
        return Statement("target", tokens, right=tokens[2:], place=place)
    drawn = split(tokens, "~")
    if len(drawn) == 2:
        return Statement("draw", tokens, drawn[0], drawn[1], place)
    sign = next((sign for sign in _ASSIGNING if len(split(tokens, sign)) == 2), None)
    left, right = split(tokens, sign) if sign else (tokens, ())
    return Statement("assign" if sign else "call", tokens, left, right, place)


def _expects_value(tokens: list[re.Match[str]]) -> bool:
    """Whether a brace here begins an array: after an operator, never after a word or a bracket."""
    return bool(tokens) and tokens[-1][0] in (
        *_ASSIGNING,
        "~",
        "+",
        "-",
        "*",
        "/",
        ",",
        "|",
        "?",
        ":",
    )


def _closing(text: str, place: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, place):
        depth += (token[0] == "{") - (token[0] == "}")
        if depth == 0:
            return token.start()
    return len(text)


def _end(tokens: Sequence[str], place: int) -> int:
    """Where the bracket that opens at a place closes."""
    depth = 0
    for index in range(place, len(tokens)):
        depth += (tokens[index] in OPENING) - (tokens[index] in CLOSING)
        if depth == 0:
            return index
    return len(tokens) - 1
