"""The mode of a density of thousands of parameters, without its Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refti.factors.banded import factor_precision
from refti.factors.factor import Factor, Widening, factor_of
from refti.factors.tuning import TUNING as FACTORS
from refti.models.model import ValueAndGradient
from refti.search.climb import climb
from refti.search.lanczos import extreme_directions
from refti.search.large_tuning import LARGE
from refti.search.mode import Mode, find_mode
from refti.search.sparsity import Precision, Products, find_precision
from refti.search.tuning import TUNING


@dataclass(frozen=True, eq=False)
class LargeMode:
    """The highest point found, as `Mode` has it, its curvature in memory linear in the dimension.

    Attributes:
        x: its unconstrained coordinates.
        log_density: the log density there.
        spread: a factor of minus the inverse Hessian; None where the density does not fall in
            every direction.
        bends: `[dim]`, the diagonal of minus the Hessian, or about that.
        disagreement: how much the curvature differs between a fine and a coarse step.
        sparse: whether the curvature is exact: sparse, and all of it known.
        other_way: the factor with the coordinates in the opposite order, where it is sparse and not
            diagonal: each is then seen given those before it, and not those after it, or the other
            way round.
    """

    x: np.ndarray
    log_density: float
    spread: Factor | None
    bends: np.ndarray
    disagreement: float
    sparse: bool
    other_way: Factor | None = None

    @property
    def is_smooth(self) -> bool:
        """Whether second derivatives exist."""
        return bool(np.isfinite(self.disagreement) and self.disagreement < TUNING.most_disagreement)

    @property
    def is_negative_definite(self) -> bool:
        """Whether the density falls in every direction from here."""
        return self.spread is not None

    def factor(self) -> Factor | None:
        """The factor of the inverse of minus the Hessian, where there is one."""
        return self.spread if self.is_smooth else None

    @property
    def log_mass(self) -> float:
        """The log integral of the density about the mode by Laplace's approximation, or NaN."""
        if self.spread is None or not self.is_smooth:
            return float("nan")
        width = 0.5 * len(self.x) * np.log(2 * np.pi) + float(self.spread.log_determinant)
        return self.log_density + width


def find_large_mode(evaluate: ValueAndGradient, start: np.ndarray) -> LargeMode | None:
    """The mode uphill of a start; None where a dense matrix does better.

    That is where the curvature is not sparse, as long as such a matrix may be made.
    """
    rng = np.random.default_rng(LARGE.seed)
    origin, height, curvature = start, -np.inf, _Curvature(factor_of(len(start)), np.ones(1))
    for _ in range(TUNING.whitened_climbs):
        before = height
        factor = curvature.spread or factor_of(len(start))
        origin, height = climb(evaluate, origin, factor=factor, iterations=LARGE.climb_iterations)
        curvature = _curvature(evaluate, origin, rng)
        if not curvature.sparse and len(start) <= FACTORS.densest:
            return None
        if height < before + TUNING.higher and before > -np.inf:
            break
    value, _ = evaluate(origin[None])
    disagreement = _disagreement(evaluate, origin, curvature, rng)
    coupled = curvature.precision
    if coupled is not None and coupled.is_diagonal:
        coupled = None
    return LargeMode(
        origin,
        float(value[0]),
        curvature.spread,
        curvature.bends,
        disagreement,
        curvature.sparse,
        None if coupled is None else factor_sparse(coupled, reverse=True),
    )


def find_any_mode(evaluate: ValueAndGradient, start: np.ndarray) -> Mode | LargeMode:
    """The mode uphill of a start, its curvature by a dense matrix only where one is allowed."""
    if len(start) > FACTORS.all_dense:
        found = find_large_mode(evaluate, start)
        if found is not None:
            return found
    return find_mode(evaluate, start)


@dataclass(frozen=True, eq=False)
class _Curvature:
    """A factor by the curvature at a point, its diagonal, and whether it is sparse."""

    spread: Factor | None
    bends: np.ndarray
    precision: Precision | None = None

    @property
    def sparse(self) -> bool:
        return self.precision is not None


def _curvature(evaluate: ValueAndGradient, x: np.ndarray, rng: np.random.Generator) -> _Curvature:
    products = Products(evaluate, x)
    products.scale(rng)
    found = find_precision(products, len(x), rng)
    if found is not None:
        factor = factor_sparse(found)
        if factor is not None or len(x) <= FACTORS.densest:
            known = None if factor is None else found
            return _Curvature(factor, found.matrix.diagonal(), known)
    return _Curvature(_by_directions(products, len(x), rng), products.widths**-2)


def factor_sparse(found: Precision, *, reverse: bool = False) -> Factor | None:
    """The factor of a sparse precision, where it has one.

    Coordinates that do not hang together at all need no solve block by block, which takes far
    longer than their density.
    """
    dim, bends = found.matrix.shape[0], found.matrix.diagonal()
    if found.is_diagonal and (bends > 0).all():
        return factor_of(dim, None, Widening(bends**-0.5, np.zeros((dim, 0)), np.zeros(0)))
    banded = factor_precision(found.matrix, found.bordering, reverse=reverse)
    return None if banded is None else factor_of(found.matrix.shape[0], banded)


def _by_directions(products: Products, dim: int, rng: np.random.Generator) -> Factor | None:
    """The factor by widths and the directions in which the curvature is largest and smallest."""
    sizes, directions, rest = extreme_directions(lambda v: products(v[None])[0], dim, rng)
    if not np.isfinite(rest) or not (sizes > 0).all():
        return None
    # Of all others the curvature is taken to be `rest`.
    curved = Widening(products.widths * rest**-0.5, directions, np.sqrt(rest / sizes) - 1)
    # Always as many, so that one program serves.
    room = LARGE.most_directions - directions.shape[1]
    if room > 0:
        curved = Widening(
            curved.scales,
            np.pad(curved.directions, ((0, 0), (0, room))),
            np.pad(curved.lengthened, (0, room)),
        )
    return factor_of(dim, None, curved)


def _disagreement(
    evaluate: ValueAndGradient, x: np.ndarray, curvature: _Curvature, rng: np.random.Generator
) -> float:
    """How much curvatures by a fine and a coarse step differ, along some directions."""
    products = Products(evaluate, x)
    vectors = rng.choice([-1.0, 1.0], (LARGE.checks, len(x)))
    if curvature.spread is not None:
        vectors = curvature.spread.out_rows(vectors)
    else:
        vectors = vectors / np.sqrt(np.maximum(np.abs(curvature.bends), 1e-300))
    fine, coarse = products(vectors, TUNING.gradient_step), products(vectors, LARGE.coarse_step)
    if curvature.spread is not None:
        fine, coarse = (curvature.spread.pull_rows(one) for one in (fine, coarse))
    size = np.sqrt(np.mean(fine**2))
    return float(np.sqrt(np.mean((fine - coarse) ** 2)) / size) if size > 0 else float("inf")
