"""Factors of a program's density: which statements are its prior and which its likelihood.

A factor belongs to the likelihood if what stands on the left of its density is made of data, or is
a whole number, which no parameter can be: `bernoulli_lpmf(1 | p)` is an observation. Where a
parameter appears elsewhere, such as in what is taken from the data, does not give it a prior.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from refti.inputs.stan import declarations, syntax
from refti.inputs.stan.declarations import Declared
from refti.inputs.stan.syntax import Statement, Tokens

DENSITY = re.compile(r"_l(u?p[dm]f|c?cdf)$")
MASS = re.compile(r"_lu?pmf$")
# Distributions of whole numbers by name, for what is drawn from them by a tilde.
DISCRETE = re.compile(
    r"(bernoulli|((beta_)?(neg_)?binomial|poisson)(_2)?|categorical|hypergeometric|discrete_range"
    r"|ordered|(dirichlet_)?multinomial)(_(log|logit|probit|logistic))?(_glm)?$"
)
LOCAL = ("transformed parameters", "model")


@dataclass(frozen=True)
class Loop:
    """A loop that a statement stands in: its variable, and the first and last value."""

    variable: str
    first: Tokens
    last: Tokens


@dataclass(frozen=True)
class Factor:
    """A term that the model block adds to the log density.

    Attributes:
        statement: where it stands.
        lefts: what stands on the left of the densities in it; none of a term without any.
        distribution: its name where the term is one density and nothing else; "" otherwise.
        arguments: of that distribution.
        between: the bounds after a tilde between which the density is truncated, `T[0, ]`; None of
            one that is not.
        beside: signed terms of the same statement that hold no density: constants, and masses of
            distributions by which a density is truncated.
        loops: those that it stands in, the outermost first.
        is_conditional: whether it stands in an `if` or a `while`.
        is_likelihood: whether it is made of data.
        text: the term, as a statement.
    """

    statement: Statement
    lefts: tuple[Tokens, ...]
    distribution: str
    arguments: tuple[Tokens, ...]
    between: tuple[Tokens, Tokens] | None
    beside: tuple[tuple[str, Tokens], ...]
    loops: tuple[Loop, ...]
    is_conditional: bool
    is_likelihood: bool
    text: str


class Code:
    """A program in stanc's canonical form, taken apart.

    Attributes:
        text: the program, without comments.
        places: where its blocks are.
    """

    def __init__(self, canonical: str):
        self.text = syntax.without_comments(canonical)
        self.places = syntax.blocks(self.text)

    def block(self, name: str) -> list[Statement]:
        """The statements of a block, placed in the whole text."""
        begin, end = self.places.get(name, (0, 0))
        return [syntax.shifted(s, begin) for s in syntax.statements(self.text[begin:end])]

    def declared(self, block: str) -> dict[str, Declared]:
        """What a block declares, by name, in its order."""
        lines = (s for s in self.block(block) if s.kind == "declare")
        return {one.name: one for line in lines for one in declarations.parse(line.tokens)}

    @cached_property
    def parameters(self) -> dict[str, Declared]:
        """The parameters."""
        return self.declared("parameters")

    @cached_property
    def data(self) -> dict[str, Declared]:
        """The data, and what the program makes of them before it begins."""
        return self.declared("data") | self.declared("transformed data")

    @cached_property
    def own_distributions(self) -> set[str]:
        """The distributions that the program defines itself, of which nothing is known."""
        begin, end = self.places.get("functions", (0, 0))
        return set(re.findall(r"\b(\w+)_lu?p[dm]f\b", self.text[begin:end]))

    @cached_property
    def assigned(self) -> dict[str, list[Tokens]]:
        """What is ever assigned to each variable that is made of parameters."""
        found: dict[str, list[Tokens]] = {}
        for block in LOCAL:
            for line in self.block(block):
                if line.kind == "declare":
                    for one in declarations.parse(line.tokens):
                        found.setdefault(one.name, []).extend([one.value] if one.value else [])
                elif line.kind == "assign" and line.left:
                    found.setdefault(line.left[0], []).append(line.right)
        return found

    def sources(self, tokens: Sequence[str]) -> set[str]:
        """The parameters and data that an expression is made of, those in indices left out."""
        found: set[str] = set()
        todo: list[Tokens] = [tuple(tokens)]
        seen: set[str] = set()
        while todo:
            for name in syntax.names(todo.pop(), indices=False) - seen:
                seen.add(name)
                if name in self.assigned:
                    todo += self.assigned[name]
                elif name in self.parameters or name in self.data:
                    found.add(name)
        return found

    @cached_property
    def factors(self) -> list[Factor]:
        """The terms of the density that the model block adds, in their order."""
        found: list[Factor] = []
        bodies: list[Loop | None] = []  # None of a body that is not that of a loop
        conditions: list[bool] = []
        for line in self.block("model"):
            if line.kind == "open":
                bodies.append(_loop(line.tokens))
                conditions.append(line.tokens[:1] in (("if",), ("else",), ("while",)))
            elif line.kind == "close" and bodies:
                bodies.pop()
                conditions.pop()
            else:
                loops = tuple(body for body in bodies if body is not None)
                found += self._factors_of(line, loops, any(conditions))
        return found

    def _factors_of(
        self, line: Statement, loops: tuple[Loop, ...], is_conditional: bool
    ) -> list[Factor]:
        context = {"loops": loops, "is_conditional": is_conditional}
        if line.kind == "draw":
            name, arguments, between = _drawn(line.right)
            data = bool(DISCRETE.match(name)) or self._is_of_data((line.left,), line.tokens)
            text = " ".join(line.tokens)
            return [
                Factor(
                    line,
                    (line.left,),
                    name,
                    arguments,
                    between,
                    (),
                    **context,  # type: ignore[arg-type]
                    is_likelihood=data,
                    text=f"{text};",
                )
            ]
        if line.kind == "call" and line.tokens[0].endswith("_lp"):
            data = self._is_of_data((), line.tokens[1:])
            text = " ".join(line.tokens)
            return [
                Factor(
                    line,
                    (),
                    "",
                    (),
                    None,
                    (),
                    **context,  # type: ignore[arg-type]
                    is_likelihood=data,
                    text=f"{text};",
                )
            ]
        if line.kind != "target":
            return []
        terms = syntax.terms(line.right)
        beside = self._beside(terms)
        return [
            self._term(line, sign, term, beside[place], context)
            for place, (sign, term) in enumerate(terms)
        ]

    def _beside(self, terms: list[tuple[str, Tokens]]) -> list[tuple[tuple[str, Tokens], ...]]:
        """Constants and masses of each density: those after it, the first also those before."""
        found: list[list[tuple[str, Tokens]]] = [[] for _ in terms]
        densities = [place for place, (_, term) in enumerate(terms) if _is_density(term)]
        for place, (sign, term) in enumerate(terms):
            is_constant = not self.sources(term) & set(self.parameters)
            if densities and place not in densities and (is_constant or _is_mass(term)):
                before = [one for one in densities if one < place]
                found[before[-1] if before else densities[0]].append((sign, term))
        return [tuple(one) for one in found]

    def _term(
        self,
        line: Statement,
        sign: str,
        term: Tokens,
        beside: tuple[tuple[str, Tokens], ...],
        context: Mapping[str, object],
    ) -> Factor:
        inner = [(name, given) for name, given in syntax.calls(term) if DENSITY.search(name)]
        lefts = tuple(syntax.split(given, "|")[0] for _, given in inner)
        name: str = ""
        arguments: tuple[Tokens, ...] = ()
        alone = sign == "+" and syntax.is_one_call(term) and bool(inner)
        if alone and re.search("_lu?p[dm]f$", term[0]):
            name = re.sub("_lu?p[dm]f$", "", term[0])
            given = syntax.split(term[2:-1], "|")
            arguments = tuple(syntax.split(given[1], ",")) if len(given) > 1 else ()
        return Factor(
            line,
            lefts,
            name,
            arguments,
            None,
            beside,
            **context,  # type: ignore[arg-type]
            is_likelihood=any(MASS.search(called) for called, _ in inner)
            or self._is_of_data(lefts, term),
            text=f"target += {sign} ({' '.join(term)});",
        )

    def _is_of_data(self, lefts: tuple[Tokens, ...], whole: Tokens) -> bool:
        """Whether a factor is made of data; whole numbers are sizes unless they stand alone."""
        for left in lefts or (whole,):
            made_of = self.sources(left)
            data = {name for name in made_of if name in self.data}
            if any(not self._is_size(name) for name in data) or (
                data and len(made_of) == len(data)
            ):
                return True
        return False

    def _is_size(self, name: str) -> bool:
        declared = self.data[name]
        return declared.kind == "int" and not declared.array


def _loop(tokens: Tokens) -> Loop | None:
    if tokens[:2] != ("for", "(") or "in" not in tokens:
        return None
    bounds = syntax.split(tokens[4:-1], ":")
    return Loop(tokens[2], bounds[0], bounds[1]) if len(bounds) == 2 else Loop(tokens[2], (), ())


def _drawn(
    tokens: Tokens,
) -> tuple[str, tuple[Tokens, ...], tuple[Tokens, Tokens] | None]:
    """The distribution after a tilde, its arguments, and between what it is truncated."""
    depth, end = 0, len(tokens)
    for place, token in enumerate(tokens):
        depth += (token in syntax.OPENING) - (token in syntax.CLOSING)
        if depth == 0 and token == ")":
            end = place
            break
    arguments = tuple(a for a in syntax.split(tokens[2:end], ",") if a)
    after = tokens[end + 1 :]
    bounds = syntax.split(after[2:-1], ",") if after[:2] == ("T", "[") else []
    return tokens[0], arguments, (bounds[0], bounds[1]) if len(bounds) == 2 else None


def _is_density(term: Tokens) -> bool:
    return syntax.is_one_call(term) and re.search("_lu?p[dm]f$", term[0]) is not None


def _is_mass(term: Tokens) -> bool:
    """Whether a term is the mass of a distribution between bounds, or some of them."""
    called = [name for name, _ in syntax.calls(term)]
    return any(re.search("_lc?cdf$|^log_diff_exp$|^log1m_exp$", name) for name in called)
