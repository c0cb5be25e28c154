"""Banded: the Cholesky factor of a precision that is banded but for a few rows.

Time series have a band, hierarchies a border of parameters that all others hang together with. With
the bordering ones last, precision = L L^T has an L with the same band and the same border. A solve
goes through L block by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from refti.factors.tuning import TUNING

_FIELDS = ("order", "place", "diagonal", "after", "border", "corner", "inverse", "carry")


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[*_FIELDS, "inverse_corner", "log_determinant"],
    meta_fields=[],
)
@dataclass(frozen=True, eq=False)
class Banded:
    """L^T of a precision in blocks; u = L^T x is white where x has that precision.

    Attributes:
        order: `[dim]`, the coordinates in the order of L, the bordering ones last.
        place: `[dim]`, where in that order each coordinate stands.
        diagonal: `[block, size, size]`, the blocks of L^T on its diagonal.
        after: `[block, size, size]`, those beside them, the last one zero.
        border: `[block, size, wide]`, what the bordering coordinates add to each block.
        corner: `[wide, wide]`, the block of L^T of the bordering ones themselves.
        inverse: the inverses of `diagonal`.
        carry: inverse @ after.
        inverse_corner: of `corner`.
        log_determinant: of L.
    """

    order: Any
    place: Any
    diagonal: Any
    after: Any
    border: Any
    corner: Any
    inverse: Any
    carry: Any
    inverse_corner: Any
    log_determinant: Any

    def whiten(self, x: Any) -> Any:
        """L^T x of columns x[dim, n]."""
        xp = _library(x)
        inner, outer = self._split(x)
        later = xp.concatenate([inner[1:], xp.zeros_like(inner[:1])])
        u = self.diagonal @ inner + self.after @ later + self.border @ outer
        return self._join(u, self.corner @ outer)

    def spread(self, u: Any) -> Any:
        """The x of L^T x = u, for columns u[dim, n]."""
        inner, outer = self._split(u)
        outer = self.inverse_corner @ outer
        return self._join(
            _backwards(self.carry, self.inverse @ (inner - self.border @ outer)), outer
        )

    def pull(self, g: Any) -> Any:
        """The transpose of `spread` times columns g[dim, n]: gradients in white coordinates."""
        xp = _library(g)
        inner, outer = self._split(g)
        inner = xp.swapaxes(self.inverse, 1, 2) @ _forwards(xp.swapaxes(self.carry, 1, 2), inner)
        outer = outer - xp.sum(xp.swapaxes(self.border, 1, 2) @ inner, axis=0)
        return self._join(inner, self.inverse_corner.T @ outer)

    def _split(self, x: Any) -> tuple[Any, Any]:
        """Columns in blocks [block, size, n], filled up with zeros, and the bordering rows."""
        xp = _library(x)
        x = x[self.order]
        blocks, size, wide = self.border.shape
        inner = x[: len(self.order) - wide]
        missing = blocks * size - len(inner)
        inner = xp.concatenate([inner, xp.zeros((missing, x.shape[1]), x.dtype)])
        return inner.reshape(blocks, size, -1), x[len(self.order) - wide :]

    def _join(self, inner: Any, outer: Any) -> Any:
        xp = _library(inner)
        blocks, size, wide = self.border.shape
        flat = inner.reshape(blocks * size, -1)[: len(self.order) - wide]
        return xp.concatenate([flat, outer])[self.place]


def factor_precision(
    precision: sparse.csr_array, bordering: np.ndarray, *, reverse: bool = False
) -> Banded | None:
    """The factor of a sparse precision, given which coordinates border all others.

    None where it is not positive definite, or where no order of the others has a narrow band.
    In reverse, each coordinate is taken given those before it, and not after it.
    """
    dim = precision.shape[0]
    others = np.setdiff1d(np.arange(dim), bordering)
    inner = precision[others][:, others].tocsr()
    turn = np.asarray(reverse_cuthill_mckee(inner, symmetric_mode=True), dtype=int)
    if _band(inner, np.arange(len(others))) <= max(TUNING.least_block, _band(inner, turn)):
        turn = np.arange(len(others))  # the user's own order, which says more
    turn = turn[::-1] if reverse else turn
    band = _band(inner, turn)
    if band > TUNING.widest_band or len(bordering) > TUNING.widest_border:
        return None
    order = np.concatenate([others[turn], bordering])
    try:
        return _factor(precision[order][:, order].tocsr(), order, len(bordering), band)
    except np.linalg.LinAlgError:
        return None


def _factor(precision: sparse.csr_array, order: np.ndarray, wide: int, band: int) -> Banded:
    size = max(TUNING.least_block, band)
    diagonal, after, border, corner = _blocks(precision, wide, size)
    inverse = np.empty_like(diagonal)
    for k in range(len(diagonal)):
        if k > 0:  # what the block before has taken
            diagonal[k] -= after[k - 1].T @ after[k - 1]
            border[k] -= after[k - 1].T @ border[k - 1]
        lower = np.linalg.cholesky(diagonal[k])
        diagonal[k] = lower.T
        inverse[k] = linalg.solve_triangular(lower.T, np.eye(size))
        border[k] = inverse[k].T @ border[k]
        after[k] = inverse[k].T @ after[k]
        corner -= border[k].T @ border[k]
    corner = np.linalg.cholesky(corner).T if wide else corner
    inverse_corner = linalg.solve_triangular(corner, np.eye(wide)) if wide else corner
    diagonals = np.concatenate([np.diagonal(diagonal, axis1=1, axis2=2).ravel(), np.diag(corner)])
    return Banded(
        order=order,
        place=np.argsort(order),
        diagonal=diagonal,
        after=after,
        border=border,
        corner=corner,
        inverse=inverse,
        carry=inverse @ after,
        inverse_corner=inverse_corner,
        log_determinant=np.asarray(np.log(diagonals).sum()),
    )


def _blocks(
    precision: sparse.csr_array, wide: int, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A matrix's blocks on the diagonal, right of them, at the border and in the corner.

    Rows are filled up to whole blocks by those of the identity.
    """
    inside = precision.shape[0] - wide
    count = max(1, -(-inside // size))
    entries = precision.tocoo()
    row, column, value = entries.row, entries.col, entries.data
    within = (row < inside) & (column < inside)
    diagonal, after = np.zeros((count, size, size)), np.zeros((count, size, size))
    border, corner = np.zeros((count, size, wide)), np.zeros((wide, wide))
    for target, ahead in ((diagonal, 0), (after, 1)):
        here = within & (column // size == row // size + ahead)
        target[row[here] // size, row[here] % size, column[here] % size] = value[here]
    beside = (row < inside) & (column >= inside)
    border[row[beside] // size, row[beside] % size, column[beside] - inside] = value[beside]
    last = (row >= inside) & (column >= inside)
    corner[row[last] - inside, column[last] - inside] = value[last]
    filled = np.arange(inside, count * size)
    diagonal[filled // size, filled % size, filled % size] = 1.0
    return diagonal, after, border, corner


def _band(matrix: sparse.csr_array, order: np.ndarray) -> int:
    """How far off the diagonal entries lie when the coordinates are put into an order."""
    place = np.argsort(order)
    rows, columns = matrix.nonzero()
    return int(np.abs(place[rows] - place[columns]).max(initial=0))


def _library(x: Any) -> Any:
    """NumPy for its own arrays, in which searches work, and JAX for those of chains."""
    return np if isinstance(x, np.ndarray) else jnp


def _backwards(carry: Any, right: Any) -> Any:
    """The x of x[k] + carry[k] @ x[k + 1] = right[k], blocks [block, size, n]."""
    if isinstance(right, np.ndarray):
        x = right.copy()
        for k in range(len(x) - 2, -1, -1):
            x[k] -= carry[k] @ x[k + 1]
        return x

    def step(later: Any, pair: Any) -> Any:
        x = pair[1] - pair[0] @ later
        return x, x

    return jax.lax.scan(step, jnp.zeros_like(right[0]), (carry, right), reverse=True)[1]


def _forwards(carry: Any, right: Any) -> Any:
    """The x of x[k] + carry[k - 1] @ x[k - 1] = right[k]."""
    if isinstance(right, np.ndarray):
        x = right.copy()
        for k in range(1, len(x)):
            x[k] -= carry[k - 1] @ x[k - 1]
        return x

    def step(before: Any, pair: Any) -> Any:
        x = pair[1] - before
        return pair[0] @ x, x

    return jax.lax.scan(step, jnp.zeros_like(right[0]), (carry, right))[1]
