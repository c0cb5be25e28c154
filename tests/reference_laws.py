"""What holds of every reference: laws that any member of any family is put through.

Statistical assertions are z-scores with fixed seeds; at a bound of 5 a comparison raises a false
alarm once in 1.7 million.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from math import log

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.references.arrays import from_arrays, to_arrays
from refti.references.base import Reference
from refti.references.family import FitInputs
from refti.sampling.exact_start import exact_draws
from refti.search.mode import find_mode
from targets import Grid, box, evaluate

DRAWS = 8000
TOO_FAR = 5.0


@cache
def small_model() -> refti.Model:
    """A half-normal scale and a normal whose centre moves with it."""
    return refti.Model(
        lambda s, b: -0.5 * (s / 0.8) ** 2 - 0.5 * ((b - 2 - 0.7 * s) / 0.3) ** 2,
        {"s": refti.positive(), "b": refti.real()},
    )


SMALL_LOG_Z = log(0.8) + log(0.3) + log(2 * np.pi) - log(2)


def small_draws(count: int) -> np.ndarray:
    """Exact draws of the small model in its unconstrained coordinates (log s, b)."""
    rng = np.random.default_rng(11)
    scale = np.abs(0.8 * rng.normal(size=count))
    return np.stack([np.log(scale), 2 + 0.7 * scale + 0.3 * rng.normal(size=count)], axis=1)


@cache
def small_inputs() -> FitInputs:
    """All that a family is fitted to, of the small model."""
    both = evaluate(small_model())
    return FitInputs(small_model(), both, find_mode(both, np.zeros(2)), small_draws(500))


@jax.jit
def log_densities(reference: Reference, x: jax.Array) -> jax.Array:
    """The log density at points x[n, dim]; one program for all members of a shape."""
    return jax.vmap(reference.log_density)(x)


@dataclass(frozen=True)
class Member:
    """A reference, its draws and its grid, made when first needed, in 64-bit mode, and kept.

    Attributes:
        make: makes it.
        model: the model whose space it lives in.
        reach: of the grid to either side, in standard deviations.
        tolerance: how well the sum over the grid is the integral: not exact for kinks.
    """

    name: str
    make: Callable[[], Reference]
    model: Callable[[], refti.Model] = small_model
    reach: float = 25
    tolerance: float = 1e-7

    def __str__(self) -> str:
        return self.name

    @cached_property
    def reference(self) -> Reference:
        return self.make()

    @cached_property
    def draws(self) -> np.ndarray:
        return np.asarray(exact_draws(self.reference, jax.random.key(4), DRAWS))

    @cached_property
    def grid(self) -> Grid:
        """The density on a box that holds it."""
        centre, spread = self.draws.mean(axis=0), self.reach * self.draws.std(axis=0)
        count = 8001 if len(centre) == 1 else 601
        points, log_cell = box(centre - spread, centre + spread, count)
        return Grid(points, self.log_density(points), log_cell)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(log_densities(self.reference, jnp.asarray(x)))


def log_z_is_the_integral_of_the_density(member: Member) -> None:
    assert float(member.reference.log_z) == pytest.approx(
        member.grid.log_integral, abs=member.tolerance
    )


def draws_have_the_density_as_their_distribution(member: Member) -> None:
    def statistics(points: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """First and second moments, and the log density where it counts."""
        pairs = points[:, :, None] * points[:, None, :]
        height = np.maximum(log_density, float(member.reference.log_z) - 1e3)[:, None]
        return np.concatenate([points, pairs.reshape(len(points), -1), height], axis=1)

    masses = member.grid.where_it_counts()
    exact = statistics(masses.points, masses.log_density)
    mean, deviation = masses.moments(exact)
    found = statistics(member.draws, member.log_density(member.draws)).mean(axis=0)
    z = (found - mean) / (deviation / np.sqrt(DRAWS))
    assert np.abs(z).max() < TOO_FAR


def draws_differ_from_each_other_and_lie_inside(member: Member) -> None:
    assert member.draws.dtype == np.float64
    assert np.isfinite(member.draws).all()
    assert np.isfinite(member.log_density(member.draws)).all()
    assert (member.draws.std(axis=0) > 0).all()


def is_a_pytree_of_64_bit_numbers_that_survives_a_round_trip(member: Member) -> None:
    reference = member.reference
    assert isinstance(reference, Reference)
    assert jnp.shape(reference.log_z) == ()
    leaves, structure = jax.tree_util.tree_flatten(reference)
    assert leaves
    assert all(leaf.dtype == jnp.float64 for leaf in leaves)
    again = jax.tree_util.tree_unflatten(structure, leaves)
    assert type(again) is type(reference)
    assert jax.tree_util.tree_structure(again) == structure
    for here, there in zip(leaves, jax.tree_util.tree_leaves(again), strict=True):
        np.testing.assert_array_equal(here, there)


def another_member_of_the_family_runs_the_same_program(member: Member) -> None:
    other = jax.tree.map(lambda leaf: 1.01 * leaf, member.reference)
    assert float(member.reference.log_z) != float(other.log_z)
    # What the member's own were drawn by may have made room for other members' programs.
    member.log_density(np.asarray(exact_draws(member.reference, jax.random.key(5), DRAWS)))
    known = log_densities._cache_size(), exact_draws._cache_size()
    log_densities(other, jnp.asarray(member.draws))
    exact_draws(other, jax.random.key(6), DRAWS)
    assert (log_densities._cache_size(), exact_draws._cache_size()) == known


def comes_back_from_a_file_to_the_bit(member: Member) -> None:
    kind, arrays = to_arrays(member.reference)
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as kept:
        again = from_arrays(kind, dict(kept), member.model())
    assert jax.tree.structure(again) == jax.tree.structure(member.reference)
    assert isinstance(again, Reference)
    np.testing.assert_array_equal(again.log_z, member.reference.log_z)
    np.testing.assert_array_equal(exact_draws(again, jax.random.key(4), DRAWS), member.draws)
    values = log_densities(again, jnp.asarray(member.draws))
    np.testing.assert_array_equal(values, member.log_density(member.draws))


# In one or two dimensions, where a grid holds the density.
LAWS_ON_A_GRID = (
    log_z_is_the_integral_of_the_density,
    draws_have_the_density_as_their_distribution,
)
LAWS = (
    draws_differ_from_each_other_and_lie_inside,
    is_a_pytree_of_64_bit_numbers_that_survives_a_round_trip,
    another_member_of_the_family_runs_the_same_program,
    comes_back_from_a_file_to_the_bit,
)
