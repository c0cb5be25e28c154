"""What the text of a Stan program tells of its priors: those that are seen to integrate to one.

A parameter has a prior if a density with it on the left is added: the parameter itself, all of its
elements, once. Whatever else there may be, a transform with or without its Jacobian, a density of
the user's own, an element left out, is for the density itself to tell: see `split` and `flatness`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from typing import Any, Literal

from refti.inputs.stan import cut_priors, made_up, syntax
from refti.inputs.stan.circles import in_circles
from refti.inputs.stan.declarations import Declared
from refti.inputs.stan.factors import Code, Factor, Loop
from refti.inputs.stan.numbers import number, whole
from refti.inputs.stan.ranks import rank
from refti.inputs.stan.syntax import Tokens

# Functions that put their arguments beside each other and change none of them.
_PLACING = (
    *("to_vector", "to_row_vector", "to_array_1d", "to_array_2d", "to_matrix"),
    *("append_row", "append_col", "append_array", "head", "tail", "segment", "row", "col"),
)
_MATRIX_PRIORS = {
    "simplex": ("dirichlet",),
    "corr_matrix": ("lkj_corr",),
    "cholesky_factor_corr": ("lkj_corr_cholesky",),
    "cov_matrix": ("wishart", "inv_wishart"),
    "cholesky_factor_cov": ("wishart_cholesky", "inv_wishart_cholesky"),
}
# Distributions of whole vectors, which have the mean as their first argument.
_OF_VECTORS = ("multi_normal", "multi_student_t", "multi_gp", "dirichlet", "gaussian_dlm")
_ROUNDING = 1e-9  # of masses in nats that make each other up
_PLAIN = ("real", "vector", "row_vector", "matrix", "ordered", "positive_ordered")


@dataclass(frozen=True)
class Priors:
    """What the text tells.

    Attributes:
        uniform: parameters without any statement that are bounded: flat between their bounds.
        cut: by parameter, the log of what its bounds leave of its prior, where that is not 0.
        flat: parameters without bounds that no prior speaks of: improper.
        unclear: parameters of which the text does not tell that their prior integrates to one.
        beside_data: parameters drawn together with data, such as data that are missing.
        cut_by_others: parameters of which bounds leave a part that depends on other parameters.
    """

    uniform: tuple[str, ...]
    cut: Mapping[str, float]
    flat: tuple[str, ...]
    unclear: tuple[str, ...]
    beside_data: tuple[str, ...]
    cut_by_others: tuple[str, ...] = ()


Elements = frozenset[int] | Literal["all"]
"""Elements of the first dimension that a density is of."""


def read_priors(code: Code, known: Mapping[str, Any]) -> Priors:
    """What the text of a program tells of its priors, with its data known."""
    drawn: dict[str, list[tuple[Factor, Elements | None]]] = {name: [] for name in code.parameters}
    beside_data: set[str] = set()
    touched: set[str] = set()
    for factor in code.factors:
        placed = _placed(code, factor, known)
        for name, elements in placed.items():
            if factor.is_likelihood:
                beside_data.add(name)
            else:
                drawn[name].append((factor, elements))
        if not factor.is_likelihood:
            left = factor.lefts or (syntax.tokenise(factor.text),)
            touched |= {n for one in left for n in code.sources(one)}
            touched |= {n for n in code.parameters if not factor.lefts and n in factor.text.split()}
            if not any(code.sources(one) for one in factor.lefts):
                touched |= code.sources(syntax.tokenise(factor.text))
    uniform: list[str] = []
    flat: list[str] = []
    unclear: list[str] = []
    cut: dict[str, float] = {}
    cut_by_others: list[str] = []
    circles = in_circles(code, {n: [f for f, _ in found] for n, found in drawn.items()}, known)
    for name, declared in code.parameters.items():
        is_empty = any(whole(size, known) == 0 for size in declared.all_sizes)
        if is_empty or (name in beside_data and not drawn[name]):
            continue
        if not drawn[name] and name not in touched:
            (uniform if declared.is_bounded else flat).append(name)
            continue
        mass = _log_mass(code, declared, drawn[name], known)
        others = _other_factors(code, name, [factor for factor, _ in drawn[name]])
        if mass is None or others or name in beside_data or name in circles:
            unclear.append(name)
            if _is_cut_by_others(declared, drawn[name], known):
                cut_by_others.append(name)
        elif mass != 0:
            cut[name] = mass
    beside = tuple(sorted(beside_data))
    return Priors(tuple(uniform), cut, tuple(flat), tuple(unclear), beside, tuple(cut_by_others))


def _other_factors(code: Code, name: str, drawn: list[Factor]) -> bool:
    """Whether a factor of the prior that is not a density of the parameter has it on its left."""
    for factor in code.factors:
        if factor.is_likelihood or factor in drawn:
            continue
        lefts = factor.lefts or (syntax.tokenise(factor.text),)
        if any(name in code.sources(left) for left in lefts):
            return True
        if not any(code.sources(left) for left in lefts) and factor.distribution == "":
            continue  # a constant, or the mass of a distribution between bounds
        if not any(code.sources(left) for left in lefts) and name in code.sources(
            syntax.tokenise(factor.text)
        ):
            return True
    return False


def _placed(code: Code, factor: Factor, known: Mapping[str, Any]) -> dict[str, Elements | None]:
    """The parameters that stand on the left of a density as they are, and which elements.

    None stands for elements that cannot be told from here.
    """
    found: dict[str, Elements | None] = {}
    for left in factor.lefts:
        if not factor.distribution and not factor.is_likelihood:
            continue
        _place(code, left, factor.loops, known, found, ())
    return found


def _place(
    code: Code,
    tokens: Tokens,
    loops: tuple[Loop, ...],
    known: Mapping[str, Any],
    found: dict[str, Elements | None],
    seen: tuple[str, ...],
) -> None:
    while tokens and tokens[-1] == "'":
        tokens = tokens[:-1]
    if len(tokens) > 1 and tokens[0] == "(" and tokens[-1] == ")":
        tokens = tokens[1:-1]
    if not tokens:
        return
    if syntax.is_one_call(tokens):
        if tokens[0] in _PLACING:
            whole_of_it = tokens[0].startswith("to_")
            inner: dict[str, Elements | None] = {}
            for part in syntax.split(tokens[2:-1], ","):
                _place(code, part, loops, known, inner, seen)
            append = tokens[0].startswith("append")
            found.update(inner if whole_of_it or append else dict.fromkeys(inner))
        return
    name, index = tokens[0], tokens[1:]
    if index and not (
        index[0] == "["
        and index[-1] == "]"
        and syntax.names(tokens)
        and len(syntax.without_indices(tokens)) == 1
    ):
        return
    if name in code.parameters:
        elements = _elements(code.parameters[name], index, loops, known)
        found[name] = elements if name not in found else None
    elif name in code.assigned and name not in seen:
        values = code.assigned[name]
        for value in values:
            inner = {}
            _place(code, value, (), known, inner, (*seen, name))
            # What is assigned more than once may be another thing by then, in whole or in part.
            found.update(inner if not index and len(values) == 1 else dict.fromkeys(inner))


def _elements(
    declared: Declared, index: Tokens, loops: tuple[Loop, ...], known: Mapping[str, Any]
) -> Elements | None:
    """The elements that an index stands for over all turns of the loops about it."""
    if not index:
        return "all" if not loops else None
    found: list[Elements | None] = []
    used = []
    for part, size in zip_longest(syntax.split(index[1:-1], ","), declared.all_sizes):
        if part in (None, (), (":",)):
            found.append("all")
            continue
        loop = next((loop for loop in loops if part == (loop.variable,)), None)
        used += [loop] if loop else []
        ends = (loop.first, loop.last) if loop else tuple(syntax.split(part, ":"))
        found.append(_elements_of(ends, size or (), known))
    complete = all(one == "all" for one in found[1:])
    return found[0] if complete and len(used) == len(loops) else None


def _elements_of(
    ends: tuple[Tokens, ...], size: Tokens, known: Mapping[str, Any]
) -> Elements | None:
    """The elements from a first to a last, of one index, or of a list such as {1, 3}."""
    if len(ends) == 1 and ends[0][:1] == ("{",):
        listed = [whole(one, known) for one in syntax.split(ends[0][1:-1], ",")]
        distinct = frozenset(one for one in listed if one is not None)
        return distinct if len(distinct) == len(listed) else None
    first, last = (whole(end, known) for end in (ends[0], ends[-1]))
    if len(ends) == 2 and first == 1 and ends[1] == size:
        return "all"
    if first is None or last is None:
        return None
    total = whole(size, known)
    return "all" if (first, last) == (1, total) else frozenset(range(first, last + 1))


def _log_mass(
    code: Code,
    declared: Declared,
    drawn: list[tuple[Factor, Elements | None]],
    known: Mapping[str, Any],
) -> float | None:
    """The log of the integral of a parameter's prior; None where the text does not tell."""
    if not drawn or not _covers_once(declared, [elements for _, elements in drawn], known):
        return None
    if any(factor.is_conditional or not factor.distribution for factor, _ in drawn):
        return None
    if not all(_is_one_density(code, factor) for factor, _ in drawn):
        return None
    if any(factor.distribution in code.own_distributions for factor, _ in drawn):
        return None
    if declared.kind in _MATRIX_PRIORS:
        known_kinds = _MATRIX_PRIORS[declared.kind]
        return 0.0 if all(f.distribution in known_kinds for f, _ in drawn) else None
    if declared.kind not in _PLAIN:
        return None
    total = 0.0
    for factor, elements in drawn:
        count = _count(declared, elements, known)
        if made_up.is_truncated(factor, declared, count, known):
            continue
        each = cut_priors.log_mass(
            declared, factor.distribution, factor.arguments, factor.between, known
        )
        orders = cut_priors.log_share_of_orderings(declared, known)
        constant = made_up.constants(factor, known)
        if each is None or orders is None or constant is None:
            return None
        if (each != 0 and count is None) or (orders != 0 and not _are_numbers(factor, known)):
            return None
        total += each * (count or 0) + orders + constant
    return 0.0 if abs(total) < _ROUNDING else total


def _is_cut_by_others(
    declared: Declared, drawn: list[tuple[Factor, Elements | None]], known: Mapping[str, Any]
) -> bool:
    """Whether bounds leave a part of a parameter's density that depends on other parameters."""
    return (
        not declared.bounds.keys().isdisjoint(("lower", "upper"))
        and bool(drawn)
        and _covers_once(declared, [elements for _, elements in drawn], known)
        and all(
            one.distribution in cut_priors.DISTRIBUTIONS
            and not (one.between or one.beside or one.is_conditional or _are_numbers(one, known))
            for one, _ in drawn
        )
    )


def _is_one_density(code: Code, factor: Factor) -> bool:
    """Whether a statement adds as many densities as it has elements on its left, and no more."""
    if factor.distribution.startswith(_OF_VECTORS):
        # A vector beside an array of vectors is as many densities as the array has.
        ranks = [rank(one, code, factor.loops) for one in factor.arguments[:1]]
        of_left = rank(factor.lefts[0], code, factor.loops)
        return all(one is None or of_left is None or one <= of_left for one in ranks)
    if rank(factor.lefts[0], code, factor.loops) != 0:
        return True  # Stan itself sees that the sizes are the same
    return all(rank(one, code, factor.loops) == 0 for one in factor.arguments)


def _are_numbers(factor: Factor, known: Mapping[str, Any]) -> bool:
    """Whether all elements are drawn alike, so that every order of them is as probable."""
    return all(number(argument, known) is not None for argument in factor.arguments)


def _covers_once(
    declared: Declared, ranges: list[Elements | None], known: Mapping[str, Any]
) -> bool:
    """Whether the densities are of all elements, and of none twice."""
    if any(one is None for one in ranges):
        return False
    if ranges == ["all"]:
        return True
    sizes = declared.all_sizes
    size = whole(sizes[0], known) if sizes else None
    found = [element for one in ranges if one is not None and one != "all" for element in one]
    return "all" not in ranges and size is not None and sorted(found) == list(range(1, size + 1))


def _count(declared: Declared, elements: Elements | None, known: Mapping[str, Any]) -> int | None:
    """How many numbers a density is of."""
    sizes = [whole(size, known) for size in declared.all_sizes]
    if elements is None or any(size is None for size in sizes):
        return None
    counts = [size or 0 for size in sizes]
    if elements != "all":
        counts[0] = len(elements)
    return prod(counts)
