"""R dump files: the data format of older Stan programs, `y <- c(1, 2, 3)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

_TOKEN = re.compile(
    r'"([^"]*)"|`([^`]*)`|(<-)|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?)|([A-Za-z.][\w.]*)|(\S)'
)
_CONSTANTS = {"NA": np.nan, "NaN": np.nan, "Inf": np.inf, "TRUE": 1, "FALSE": 0}


def parse_dump(text: str) -> dict[str, Any]:
    """The variables of an R dump, with arrays in R's order of elements, columns first.

    Raises ValueError, with the line, at what is no number, vector, range or structure of these.
    """
    reader = _Reader(re.sub(r"(?m)#.*$", "", text))
    found = {}
    while not reader.at_end:
        if reader.peek() == ";":
            reader.take()
            continue
        name = reader.take()
        reader.take("<-", "=")
        found[name] = reader.value()
    return found


class _Reader:
    """Tokens of a dump, one after the other."""

    def __init__(self, text: str):
        self._tokens = list(self._split(text))
        self._place = 0

    @staticmethod
    def _split(text: str) -> Iterator[tuple[str, int]]:
        for match in _TOKEN.finditer(text):
            token = next(part for part in match.groups() if part is not None)
            yield token, text.count("\n", 0, match.start()) + 1

    @property
    def at_end(self) -> bool:
        """Whether there is nothing left."""
        return self._place >= len(self._tokens)

    def peek(self) -> str:
        """The next token; "" at the end."""
        return "" if self.at_end else self._tokens[self._place][0]

    def take(self, *expected: str) -> str:
        """The next token, which is one of those expected where any are."""
        token = self.peek()
        if self.at_end or (expected and token not in expected):
            line = self._tokens[min(self._place, len(self._tokens) - 1)][1] if self._tokens else 1
            wanted = " or ".join(map(repr, expected)) or "a value"
            raise ValueError(f"line {line}: expected {wanted}, got {token or 'the end'!r}")
        self._place += 1
        return token

    def value(self) -> Any:
        """A number, a range, a vector, or a structure with dimensions."""
        token = self.take()
        if token == "structure":
            return self._structure()
        if token == "c":
            return np.asarray(self._elements())
        if token in ("integer", "double", "numeric"):
            self.take("(")
            size = int(self.value())
            self.take(")")
            return np.zeros(size, dtype=int if token == "integer" else float)
        return self._number_or_range(token)

    def _number_or_range(self, token: str) -> Any:
        first = self._number(token)
        if self.peek() != ":":
            return first
        self.take(":")
        last = self._number(self.take())
        step = 1 if last >= first else -1
        return np.arange(int(first), int(last) + step, step)

    def _elements(self) -> list[Any]:
        self.take("(")
        elements: list[Any] = []
        while self.peek() != ")":
            elements.extend(np.ravel(self.value()).tolist())
            if self.peek() == ",":
                self.take(",")
        self.take(")")
        return elements

    def _structure(self) -> Any:
        self.take("(")
        values = np.asarray(self.value())
        shape: Any = None
        while self.peek() == ",":
            self.take(",")
            name = self.take()
            self.take("=")
            if name == ".Dim":
                shape = self.value()
            else:
                self._skip()
        self.take(")")
        return values if shape is None else values.reshape(np.ravel(shape), order="F")

    def _skip(self) -> None:
        """Goes past a value that is of no use, such as names."""
        depth = 0
        while depth > 0 or self.peek() not in (",", ")"):
            depth += {"(": 1, ")": -1}.get(self.take(), 0)

    def _number(self, token: str) -> int | float:
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token in ("-", "+"):
            value = self._number(self.take())
            return -value if token == "-" else value
        try:
            is_whole = re.fullmatch(r"[-+]?\d+L?", token)
            return int(token.removesuffix("L")) if is_whole else float(token.removesuffix("L"))
        except ValueError:
            self._place -= 1
            line = self._tokens[self._place][1]
            raise ValueError(f"line {line}: expected a number, got {token!r}") from None
