"""Implicit uniform priors of Stan programs: told in nats, and divided out where asked for."""

from __future__ import annotations

from math import log, pi
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import refti
from refti.inputs.stan import declarations
from refti.inputs.stan.prior_of import Sizes
from refti.inputs.stan.syntax import tokenise
from refti.inputs.stan.uniform_priors import log_volumes
from refti.inputs.stan.unit_vectors import unit_vectors

PROGRAM = Path(__file__).parents[1] / "stan" / "uniform.stan"
# Widths, the volume of the simplex, and the sphere's area.
NATS = 4 * log(40) - log(6) + log(4 * pi)


@pytest.fixture(scope="module")
def flat() -> refti.Model:
    return refti.from_stan(PROGRAM, {"K": 4, "nested": 0}, progress=False)


def test_the_size_in_nats_is_in_the_note_and_in_the_evidence(flat: refti.Model):
    result = refti.evidence(flat, seed=1, search="quick", progress=False)
    assert f"log z holds {NATS:+.3f} nats" in str(result)
    assert "tau (-0.693 nats)" in str(result)
    # Half of the normal is cut off, and nobody divides by that.
    assert abs(result.log_z - (NATS + log(0.5))) < 4 * result.error < 0.2


def test_draws_of_unit_vectors_have_lengths_as_the_density_has_them(flat: refti.Model):
    x = np.random.default_rng(0).normal(size=(400, flat.dim))
    vector = [flat.space.coordinates.index(f"u[{i}]") for i in (1, 2, 3)]
    back = flat.space.unconstrain_all(flat.space.constrain_all(x))
    directions = [v[:, vector] / np.linalg.norm(v[:, vector], axis=1)[:, None] for v in (x, back)]
    np.testing.assert_allclose(*directions, rtol=1e-9)
    squares = (back[:, vector] ** 2).sum(axis=1)  # of a chi with five degrees of freedom
    assert abs(squares.mean() - 5) < 4 * np.sqrt(10 / 400)
    np.testing.assert_allclose(flat.space.round_trip(x), x, atol=1e-9)


def test_normalised_they_integrate_to_one(flat: refti.Model):
    model = refti.from_stan(
        PROGRAM, {"K": 4, "nested": 0}, uniform_priors="normalise", progress=False
    )
    x = np.random.default_rng(0).normal(size=(3, model.dim))
    np.testing.assert_allclose(flat.log_densities(x) - model.log_densities(x), NATS, rtol=1e-12)
    assert "normalised" in model.notes[0]
    assert model.origin is not None
    assert flat.origin is not None
    assert model.origin["uniform_priors"] == "normalise"
    assert model.origin["program_sha256"] == flat.origin["program_sha256"]


def test_bounds_that_depend_on_parameters_have_no_one_size():
    data = {"K": 4, "nested": 1}
    model = refti.from_stan(PROGRAM, data, progress=False)
    # Nothing is said of the first, which is uniform between 0 and 1.
    assert "prior to second: a density of 1 between bounds that depend" in model.notes[1]
    assert not any("first" in note for note in model.notes)
    with pytest.raises(refti.ModelError, match=r"bounds of second depend.*second ~ uniform"):
        refti.from_stan(PROGRAM, data, uniform_priors="normalise", progress=False)


def test_options_are_told_before_anything_is_compiled():
    with pytest.raises(refti.SettingsError, match=r"'keep', 'normalise'.*got 'no'"):
        refti.from_stan(PROGRAM, {"K": 4}, uniform_priors="no")  # type: ignore[arg-type]
    with pytest.raises(refti.SettingsError, match="check_prior= must be True or False; got 'no'"):
        refti.from_stan(PROGRAM, {"K": 4}, check_prior="no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "size", "volume"),
    [
        ("corr_matrix", 2, 2.0),
        ("corr_matrix", 3, pi**2 / 2),  # the elliptope
        ("cholesky_factor_corr", 2, 2.0),
        ("cholesky_factor_corr", 3, 2 * pi),  # an interval and a disc
    ],
)
def test_correlations_have_the_volumes_of_their_matrices(kind: str, size: int, volume: float):
    (one,) = declarations.parse(tokenise(f"{kind}[{size}] R"))
    space = SimpleNamespace(parameters={"R": SimpleNamespace(shape=(size, size))})
    found = log_volumes(space, {"R": one}, ["R"])["R"]  # type: ignore[arg-type]
    assert found == pytest.approx(log(volume))
    by_hand = np.random.default_rng(0).uniform(-1, 1, size=(200_000, 3))
    if size == 3:  # the share of all triples that are correlations, or fill the disc
        a, b, c = by_hand.T
        inside = (
            1 + 2 * a * b * c - a**2 - b**2 - c**2 > 0 if kind[1:4] == "orr" else b**2 + c**2 < 1
        )
        assert 8 * inside.mean() == pytest.approx(volume, rel=0.02)


def test_without_any_there_is_nothing_to_say():
    assert Sizes({}, {}, 0.0, random_data=False).notes("normalise") == []


def test_unit_vectors_vanish_at_zero_and_integrate_to_one():
    space = SimpleNamespace(
        coordinates=tuple("auuuuuub"), unit_vectors=(np.arange(1, 4), np.arange(4, 7))
    )
    vectors, excess = unit_vectors(space)  # type: ignore[arg-type]
    assert vectors is not None
    x = np.random.default_rng(0).normal(size=(8,))
    lengths = (x[1:4] @ x[1:4], x[4:7] @ x[4:7])
    with jax.enable_x64(True):
        assert float(vectors.log_lengths(jnp.asarray(x))) == pytest.approx(np.log(lengths).sum())
    # Of a chi with three degrees of freedom: r^4 exp(-r^2 / 2), once a vector.
    integral, _ = quad(lambda r: r**4 * np.exp(-r * r / 2), 0, np.inf)
    assert excess == pytest.approx(2 * log(integral))
