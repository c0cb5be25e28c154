"""Implicit uniform priors of Stan programs: told in nats, and divided out where asked for."""

from __future__ import annotations

from math import log, pi
from pathlib import Path

import numpy as np
import pytest

import refti
from refti.inputs.stan.prior_of import Sizes

PROGRAM = Path(__file__).parents[1] / "stan" / "uniform.stan"
# Widths, the volume of the simplex, that of correlation matrices (pi^2 / 2), of their factors (a
# disc on an interval), and the sphere's area.
NATS = 4 * log(40) - log(6) + log(pi**2 / 2) + log(2 * pi) + log(4 * pi)


@pytest.fixture(scope="module")
def flat() -> refti.Model:
    return refti.from_stan(PROGRAM, {"K": 4, "nested": 0}, progress=False)


def test_the_size_in_nats_is_in_the_note_and_in_the_evidence(flat: refti.Model):
    result = refti.evidence(flat, seed=1, progress=False)
    assert f"log z holds {NATS:+.3f} nats" in str(result)
    assert "tau (-0.693 nats)" in str(result)
    # Half of the normal is cut off, and nobody divides by that.
    assert abs(result.log_z - (NATS + log(0.5))) < 4 * result.error < 0.2


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
    assert "second (depends on parameters)" in model.notes[0]
    with pytest.raises(refti.ModelError, match=r"bounds of second depend.*second ~ uniform"):
        refti.from_stan(PROGRAM, data, uniform_priors="normalise", progress=False)


def test_options_are_told_before_anything_is_compiled():
    with pytest.raises(refti.SettingsError, match=r"'keep', 'normalise'.*got 'no'"):
        refti.from_stan(PROGRAM, {"K": 4}, uniform_priors="no")  # type: ignore[arg-type]
    with pytest.raises(refti.SettingsError, match="check_prior= must be True or False; got 'no'"):
        refti.from_stan(PROGRAM, {"K": 4}, check_prior="no")  # type: ignore[arg-type]


def test_without_any_there_is_nothing_to_say():
    assert Sizes({}, {}, 0.0, random_data=False).notes("normalise") == []
