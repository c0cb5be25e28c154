"""Ladders: their values, and refusal of anything that does not run from 0 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import refti
from refti.paths import ladder


def test_uniform_is_evenly_spaced():
    np.testing.assert_allclose(refti.uniform(5), [0, 0.25, 0.5, 0.75, 1], rtol=0, atol=0)


def test_power_is_dense_near_zero():
    np.testing.assert_allclose(refti.power(5), [0, 1 / 64, 1 / 8, 27 / 64, 1], rtol=1e-15)
    np.testing.assert_allclose(refti.power(3, 0.5), [0, np.sqrt(0.5), 1], rtol=1e-15)


def test_two_rungs_are_the_least():
    np.testing.assert_array_equal(refti.uniform(2), [0, 1])


@pytest.mark.parametrize("lambdas", [[0, 1], (0.0, 0.3, 1.0), np.linspace(0, 1, 4)])
def test_good_ladders_pass_unchanged(lambdas: Any):
    found = ladder.checked(lambdas)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, lambdas)


BAD = {
    "first not 0": ([0.02, 0.5, 1.0], "first value 0.02"),
    "last not 1": ([0.0, 0.5, 0.9], "last value 0.9"),
    "decreasing": ([0.0, 0.6, 0.4, 1.0], "0.6 followed by 0.4"),
    "repeated": ([0.0, 0.5, 0.5, 1.0], "0.5 followed by 0.5"),
    "backwards": ([1.0, 0.0], "first value 1"),
    "nan": ([0.0, np.nan, 1.0], "not finite"),
    "infinite": ([0.0, np.inf, 1.0], "not finite"),
    "one rung": ([0.0], "shape (1,)"),
    "none": ([], "shape (0,)"),
    "a number": (0.5, "shape ()"),
    "two dimensions": ([[0.0, 1.0], [0.0, 1.0]], "shape (2, 2)"),
    "ragged": ([[0.0], [0.0, 1.0]], "refti.uniform(11)"),
    "text": ("uniform", "got 'uniform'"),
    "texts": (["a", "b"], "refti.uniform(11)"),
}


@pytest.mark.parametrize(("lambdas", "words"), BAD.values(), ids=BAD)
def test_bad_ladders_are_refused_with_what_was_wrong(lambdas: Any, words: str):
    with pytest.raises(refti.LadderError) as caught:
        ladder.checked(lambdas)
    assert words in str(caught.value)
    assert "start at 0, end at 1 and increase strictly" in str(caught.value)


@pytest.mark.parametrize("rungs", [1, 0, -3, 2.5, "5"])
def test_too_few_rungs_are_refused(rungs: Any):
    with pytest.raises(refti.LadderError, match="at least 2 rungs"):
        refti.uniform(rungs)


@pytest.mark.parametrize("exponent", [0.0, -1.0, np.nan, np.inf])
def test_exponents_that_give_no_ladder_are_refused(exponent: float):
    with pytest.raises(refti.LadderError, match="exponent"):
        refti.power(5, exponent)


def test_evidence_refuses_a_bad_ladder():
    model = refti.Model(lambda x: -0.5 * x[0] ** 2, dim=1)
    with pytest.raises(refti.LadderError, match=r"first value 0\.1"):
        refti.evidence(model, ladder=[0.1, 1.0])
