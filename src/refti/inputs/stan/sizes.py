"""Sizes and bounds of data, held against the program's declarations before it is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from refti.inputs.stan.declarations import Declared
from refti.inputs.stan.numbers import number, whole
from refti.inputs.stan.syntax import Tokens


def size_faults(declared: Mapping[str, Declared], values: Mapping[str, Any]) -> list[str]:
    """What is wrong with the sizes of data and with whole numbers out of bounds, in words.

    Expressions that cannot be told from the data alone are left to Stan.
    """
    known = known_data(declared, values)
    faults = []
    for name, one in declared.items():
        if name in values and one.kind not in ("complex", "tuple"):
            array = np.asarray(values[name])
            if array.dtype.kind == "U":  # JSON has NaN and infinity as text
                array = array.astype(np.float64)
            if array.dtype.kind in "biuf":
                faults += (
                    _faults_of_shape(one, array, known)
                    or _not_numbers(name, array)
                    or _faults_of_bounds(one, array, known)
                )
    return faults


def known_data(declared: Mapping[str, Declared], values: Mapping[str, Any]) -> dict[str, Any]:
    """The data by name, with whole numbers that the program makes of them."""
    known = dict(values)
    for name, one in declared.items():
        if name not in known and one.kind == "int" and one.value and not one.array:
            value = whole(one.value, known)
            if value is not None:
                known[name] = value
    return known


def _faults_of_shape(one: Declared, array: np.ndarray, known: Mapping[str, Any]) -> list[str]:
    wanted = [whole(size, known) for size in one.all_sizes]
    # An empty array has lost how many dimensions it had.
    empty = array.size == 0 and any(size == 0 for size in wanted)
    if empty or array.ndim != len(wanted):
        return []
    unlike = [
        place
        for place, (size, found) in enumerate(zip(wanted, array.shape, strict=True))
        if size is not None and size != found
    ]
    if not unlike:
        return []
    said = ", ".join(
        _size(tokens, size) for tokens, size in zip(one.all_sizes, wanted, strict=True)
    )
    return [f"{one.name!r} must have the sizes [{said}]; got {list(array.shape)}."]


def _not_numbers(name: str, array: np.ndarray) -> list[str]:
    missing = np.isnan(array.astype(np.float64))
    if not missing.any():
        return []
    return [
        f"{name!r} must hold numbers; got NaN at {_at(name, missing)} ({missing.sum():,} in all). "
        "Stan knows no missing values: leave those observations out, make parameters of them, or "
        "write any number where the program never looks."
    ]


def _at(name: str, chosen: np.ndarray) -> str:
    """The first of some elements, counted as Stan does."""
    place = tuple(int(i) + 1 for i in np.argwhere(chosen)[0])
    return f"{name}[{', '.join(map(str, place))}]" if place else name


def _faults_of_bounds(one: Declared, array: np.ndarray, known: Mapping[str, Any]) -> list[str]:
    faults = []
    for side, beyond, word in (("lower", np.less, "at least"), ("upper", np.greater, "at most")):
        bound = number(one.bounds[side], known) if side in one.bounds else None
        if bound is None:
            continue
        outside = beyond(array, bound)
        if outside.any():
            faults.append(
                f"{one.name!r} must be {word} {_size(one.bounds[side], bound)}; got "
                f"{_at(one.name, outside)} = {array[outside].ravel()[0]:g}."
            )
    return faults


def _size(tokens: Tokens, value: float | None) -> str:
    text = " ".join(tokens)
    return text if value is None or text == f"{value:g}" else f"{text} = {value:g}"
