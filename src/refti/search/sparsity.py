"""Sparsity: which parameters a density couples, and how strongly, by some hundred gradients.

A step along some coordinates at once changes the slope of exactly those that hang together with one
of them. From many such steps along random groups each coordinate's neighbours follow, as the ill
follow from pooled samples: whoever was in groups that left a slope as it was is no neighbour. What
is left of each coordinate's slopes are a few unknown numbers and many measurements of them.
Coordinates that hang together with nearly all others, as the scales of a hierarchy do, are
recognised first and stepped along one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from refti.models.model import ValueAndGradient
from refti.search.large_tuning import LARGE as TUNING


class Precision(NamedTuple):
    """Minus the Hessian of a log density."""

    matrix: sparse.csr_array
    bordering: np.ndarray  # the coordinates that hang together with nearly all others

    @property
    def is_diagonal(self) -> bool:
        """Whether no two coordinates hang together."""
        rows, columns = self.matrix.nonzero()
        return bool((rows == columns).all())


class Products:
    """Minus the Hessian at a point times vectors, by central differences of gradients.

    Vectors and products are in coordinates divided by `widths`, in which the diagonal is about one.
    """

    def __init__(self, evaluate: ValueAndGradient, x: np.ndarray) -> None:
        self._evaluate, self._x = evaluate, x
        self.widths = np.ones(len(x))

    def __call__(self, vectors: np.ndarray, step: float = TUNING.step) -> np.ndarray:
        """The products [n, dim] with vectors[n, dim]."""
        products = []
        for rows in np.array_split(vectors, -(-len(vectors) // TUNING.at_once)):
            shifts = step * rows * self.widths
            _, gradients = self._evaluate(np.concatenate([self._x + shifts, self._x - shifts]))
            up, down = np.split(gradients, 2)
            products.append((down - up) / (2 * step) * self.widths)
        return np.concatenate(products)

    def scale(self, rng: np.random.Generator) -> None:
        """Takes each coordinate's own width for its unit, by its curvature; one where it has none.

        Steps may be far too long or short for a coordinate at first, so it is done over.
        """
        for _ in range(TUNING.scalings):
            bends = self.diagonal(rng)
            usable = np.isfinite(bends) & (np.abs(bends) > 0)
            change = np.where(usable, np.abs(np.where(usable, bends, 1.0)) ** -0.5, 1.0)
            self.widths = self.widths * change
            if np.abs(np.log(change)).max() < TUNING.scaled:
                break

    def diagonal(self, rng: np.random.Generator) -> np.ndarray:
        """About the diagonal: by steps along every so-manyth coordinate, at random."""
        dim = len(self._x)
        groups = np.resize(np.arange(min(TUNING.diagonal_groups, dim)), dim)[rng.permutation(dim)]
        vectors = np.zeros((groups.max() + 1, dim))
        vectors[groups, np.arange(dim)] = rng.choice([-1.0, 1.0], dim)
        return np.sum(self(vectors) * vectors, axis=0)


def find_precision(products: Products, dim: int, rng: np.random.Generator) -> Precision | None:
    """Minus the Hessian where it is sparse but for a few rows, and None where it is not."""
    bordering = _find_bordering(products, dim, rng)
    if bordering is None:
        return None
    for share, count in TUNING.groups:
        tried = _try_groups(products, dim, bordering, share, count, rng)
        hubs = np.setdiff1d(
            np.flatnonzero(tried.changed.mean(axis=0) > TUNING.saturated), bordering
        )
        if len(hubs) + len(bordering) <= TUNING.most_bordering:
            bordering = np.sort(np.concatenate([bordering, hubs]))
            coupling = _decode(tried, bordering)
            if coupling is not None:
                found = _checked(products, _with_border(products, coupling, bordering), rng)
                if found is not None:
                    return found
    return None


class _Tried(NamedTuple):
    vectors: np.ndarray  # [group, dim]
    slopes: np.ndarray  # [group, dim]

    @property
    def changed(self) -> np.ndarray:
        return np.abs(self.slopes) > TUNING.nothing


def _find_bordering(products: Products, dim: int, rng: np.random.Generator) -> np.ndarray | None:
    """The coordinates whose slope changes whatever small group is stepped along."""
    share, count = TUNING.first_groups
    tried = _try_groups(products, dim, np.zeros(0, int), max(share, 3 / dim), count, rng)
    clean = tried.changed[tried.changed.mean(axis=1) < 0.5]  # no such coordinate in the group
    if len(clean) < TUNING.fewest_clean:
        return None
    found = np.flatnonzero(clean.mean(axis=0) > TUNING.saturated)
    return found if len(found) <= TUNING.most_bordering else None


def _try_groups(
    products: Products,
    dim: int,
    bordering: np.ndarray,
    share: float,
    count: int,
    rng: np.random.Generator,
) -> _Tried:
    """Steps along groups that hold each coordinate but the bordering ones with a probability."""
    members = rng.random((count, dim)) < share
    members[:, bordering] = False
    # Of unequal lengths: two neighbours must not cancel each other.
    vectors = members * rng.uniform(0.5, 1.5, (count, dim)) * rng.choice([-1.0, 1.0], (count, dim))
    return _Tried(vectors, products(vectors))


def _decode(tried: _Tried, bordering: np.ndarray) -> sparse.csr_array | None:
    """The coupling of all coordinates but the bordering ones; None if neighbours are too many."""
    count, dim = tried.vectors.shape
    quiet = (~tried.changed).astype(np.float32)
    members = (tried.vectors != 0).astype(np.float32)
    inner = np.setdiff1d(np.arange(dim), bordering)
    parts = []
    for rows in np.array_split(inner, -(-len(inner) // TUNING.rows_at_once)):
        # One quiet group may be a coincidence: two neighbours that cancel each other to rounding.
        possible = quiet[:, rows].T @ members < TUNING.quiet_groups
        possible[np.arange(len(rows)), rows] = True
        possible[:, bordering] = False
        if possible.sum() > TUNING.most_neighbours * len(rows):
            return None
        parts.append(_solve_rows(tried, rows, possible))
        if parts[-1] is None:
            return None
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    kept = np.abs(value) > TUNING.nothing
    return sparse.csr_array((value[kept], (row[kept], column[kept])), shape=(dim, dim))


def _solve_rows(
    tried: _Tried, rows: np.ndarray, possible: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Row, column and value of the entries that explain the slopes of some coordinates."""
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    sizes = possible.sum(axis=1)
    if sizes.max() > len(tried.vectors) // 2:
        return None
    for size in np.unique(sizes):
        here = np.flatnonzero(sizes == size)
        columns = np.nonzero(possible[here])[1].reshape(len(here), size)
        stepped = np.moveaxis(tried.vectors[:, columns], 0, 1)  # [row, group, neighbour]
        normal = np.swapaxes(stepped, 1, 2) @ stepped
        right = np.swapaxes(stepped, 1, 2) @ tried.slopes[:, rows[here]].T[:, :, None]
        # A coordinate that no group held leaves a row of zeros.
        normal = normal + 1e-12 * np.eye(size)
        values = np.linalg.solve(normal, right)[:, :, 0]
        found.append((np.repeat(rows[here], size), columns.ravel(), values.ravel()))
    row, column, value = (np.concatenate(part) for part in zip(*found, strict=True))
    return row, column, value


def _with_border(products: Products, inner: sparse.csr_array, bordering: np.ndarray) -> Precision:
    """The matrix with the rows of the bordering coordinates, symmetric, in the density's units."""
    dim = inner.shape[0]
    matrix = 0.5 * (inner + inner.T)
    if len(bordering):
        units = np.zeros((len(bordering), dim))
        units[np.arange(len(bordering)), bordering] = 1.0
        wide = products(units)
        wide[:, bordering] = 0.5 * (wide[:, bordering] + wide[:, bordering].T)
        rows = sparse.coo_array(wide)
        place = bordering[rows.row], rows.col
        upper = sparse.csr_array((rows.data, place), shape=(dim, dim))
        inside = np.isin(rows.col, bordering)  # stands in both
        lower = sparse.csr_array(
            (rows.data[~inside], (rows.col[~inside], place[0][~inside])), shape=(dim, dim)
        )
        matrix = matrix + upper + lower
    return Precision(matrix.tocsr(), bordering)


def _checked(products: Products, found: Precision, rng: np.random.Generator) -> Precision | None:
    """The precision in the density's own units, if it gives what steps in all directions give."""
    vectors = rng.normal(size=(TUNING.checks, found.matrix.shape[0]))
    actual, expected = products(vectors), (found.matrix @ vectors.T).T
    off = np.linalg.norm(actual - expected) / (float(np.linalg.norm(actual)) + 1e-300)
    if not off < TUNING.most_off:
        return None
    scale = sparse.diags_array(1 / products.widths)
    return Precision((scale @ found.matrix @ scale).tocsr(), found.bordering)
