"""Sign flips: coordinates whose signs may be changed together without a change of the density.

The factors of a factor model have no sign of their own: minus a column of the loadings beside minus
its scores is the same model, and every mode comes with its images. Which coordinates change their
signs together is tried by the names of parameters, and shown by two modes that are such images.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import prod

import numpy as np

from refti.factors.either import into_rows
from refti.models.model import ValueAndGradient
from refti.models.space import Space
from refti.search.known_peaks import KnownPeaks
from refti.search.relabelling import Relabelling
from refti.search.tuning import TUNING


def no_flips(dim: int) -> np.ndarray:
    """The signs [1, dim] that change nothing."""
    return np.ones((1, dim))


def flips_by_name(
    space: Space,
    evaluate: ValueAndGradient,
    points: np.ndarray,
    moves: Callable[[np.ndarray], bool],
) -> np.ndarray:
    """The signs [flip, dim] of all flips of whole parameters, or of their components, together.

    Sets of up to three parameters are tried, or of three axes of one length whose components, such
    as factors, may change their signs one by one. They are tried at points x[n, dim], and only such
    as move a mode: a density that is even about a mode gains nothing by it.
    """
    values = evaluate(points)[0]
    inside = np.flatnonzero(np.isfinite(values))
    tried = [one for one in _by_name(space) if moves(one[0])] if len(inside) else []
    tried = tried[: TUNING.most_flipped]
    for place in inside:
        # Of components the first tells whether it is worth to try the others.
        signs = np.stack([one[0] for one in tried]) if tried else np.ones((0, points.shape[1]))
        here = _stay_the_same(evaluate, points[place], values[place], signs)
        tried = [one for one, same in zip(tried, here, strict=True) if same]
    flips = no_flips(points.shape[1])
    for signs in [row for one in tried for row in one]:
        all_the_same = all(
            _stay_the_same(evaluate, points[place], values[place], signs[None])[0]
            for place in inside
        )
        if all_the_same and not (flips == signs).all(axis=1).any():
            flips = closed(np.vstack([flips, signs]), points[inside[0]], None)
    return flips


def _by_name(space: Space) -> list[np.ndarray]:
    """The signs [component, dim] of all sets that are tried, the smallest sets first."""
    owners = np.array(space.owners)
    pieces: dict[int, list[np.ndarray]] = {1: []}
    for name, parameter in space.parameters.items():
        places = np.flatnonzero(owners == name)
        if len(places) != prod(parameter.shape):
            continue  # a simplex, or another with fewer coordinates than elements
        whole = places.reshape(parameter.shape)
        pieces[1].append(_with_signs(len(owners), [places]))
        for axis, size in enumerate(parameter.shape):
            if 1 < size <= TUNING.most_signed:
                parts = [np.take(whole, one, axis=axis).ravel() for one in range(size)]
                pieces.setdefault(size, []).append(_with_signs(len(owners), parts))
    found = [
        np.asarray(np.prod(chosen, axis=0))
        for some in pieces.values()
        for count in range(1, TUNING.flipped_together + 1)
        for chosen in combinations(some, count)
    ]
    return sorted(found, key=lambda signs: float((signs < 0).sum()))


def _with_signs(dim: int, parts: list[np.ndarray]) -> np.ndarray:
    signs = np.ones((len(parts), dim))
    for row, places in zip(signs, parts, strict=True):
        row[places] = -1
    return signs


def _stay_the_same(
    evaluate: ValueAndGradient, x: np.ndarray, value: float, signs: np.ndarray
) -> np.ndarray:
    """Under which signs [n, dim] the density at a point stays what it is."""
    if len(signs) == 0:
        return np.zeros(0, dtype=bool)
    return _are_same(evaluate(x * signs)[0], value)


def _are_same(there: np.ndarray, here: np.ndarray | float) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # outside of the support
        least = TUNING.same_density * np.maximum(1.0, np.abs(here))
        return np.asarray(np.abs(there - here) < least)


def flips_between(
    evaluate: ValueAndGradient,
    known: KnownPeaks,
    peaks: np.ndarray,
    points: np.ndarray,
    flips: np.ndarray,
    numbering: Relabelling | None,
) -> np.ndarray:
    """The signs [flip, dim] of all flips that change nothing, with those known before.

    Looked for where two peaks are as high as each other, and tried at points x[n, dim] beside
    modes.
    """
    values, _ = evaluate(points)
    inside = np.isfinite(values)
    for one, other in combinations(peaks[: TUNING.flipped_peaks], 2):
        if abs(known.heights[one] - known.heights[other]) > TUNING.flipped_height:
            continue
        for x in _images(known.x[other], numbering):
            signs = np.where(np.abs(known.x[one] + x) < np.abs(known.x[one] - x), -1.0, 1.0)
            if (flips == signs).all(axis=1).any() or not _is_at(known, one, signs * x):
                continue
            there, _ = evaluate(points[inside] * signs)
            if inside.any() and _are_same(there, values[inside]).all():
                flips = closed(np.vstack([flips, signs]), points[0], numbering)
    return flips


def closed(flips: np.ndarray, x: np.ndarray, numbering: Relabelling | None) -> np.ndarray:
    """All products of flips [flip, dim], and what they become where components are renumbered.

    Args:
        flips: those that are known; none is added beyond the most that are looked at.
        x: a point without zeros, at which it is seen what becomes of the signs.
        numbering: the renumberings that change nothing either.
    """
    renumbered = [] if numbering is None else list(numbering.orders())[1:]
    found = [*flips]
    for signs in found:  # grows while it is gone through
        new = [signs * other for other in found]
        for orders in renumbered:
            ahead, behind = numbering.image(np.stack([x, signs * x]), orders)  # type: ignore[union-attr]
            if np.allclose(np.abs(ahead), np.abs(behind)):
                new.append(np.where(np.abs(ahead - behind) <= np.abs(ahead + behind), 1.0, -1.0))
        for one in new:
            if not any((one == other).all() for other in found):
                found.append(one)
        if len(found) * (len(renumbered) + 1) > TUNING.most_numberings:
            return flips[:1]  # too many to add, so that the search is left as it is
    return np.stack(found)


def _images(x: np.ndarray, numbering: Relabelling | None) -> list[np.ndarray]:
    if numbering is None:
        return [x]
    return [numbering.image(x[None], orders)[0] for orders in numbering.orders()]


def _is_at(known: KnownPeaks, peak: int, x: np.ndarray) -> bool:
    """Whether a point is at a peak but for what a climb leaves."""
    away = np.linalg.norm(into_rows(known.factors[peak], (x - known.x[peak])[None]))
    return bool(away < TUNING.same_peak)
