"""The checks of what a run tells beside its draws, and what a check is."""

from __future__ import annotations

import numpy as np
import pytest

from refti.checks.check import at_least, at_most
from refti.checks.ended import Ended
from refti.checks.of_run import (
    check_end,
    check_modes,
    check_peak,
    check_prior_integral,
    check_rounding,
    check_search,
    check_solver,
    check_witness,
)
from refti.estimators import Estimate


def test_a_threshold_holds_where_it_is_just_met_and_fails_for_nan():
    assert at_most("a", 1.0, 1.0, "").ok
    assert at_least("a", 1.0, 1.0, "").ok
    assert not at_most("a", np.nan, 1.0, "").ok
    assert not at_least("a", np.nan, 1.0, "").ok


@pytest.mark.parametrize(
    ("height", "mass", "ok"),
    [
        (104.0, -0.5, True),  # a Gaussian of 208 parameters
        (270.0, -0.5, False),
        (270.0, float("nan"), False),  # a spike without a top
        (270.0, -15.0, False),  # what its curvature says may be off by that much
        (270.0, -60.0, True),  # the mode of a centred hierarchy, at a small scale
    ],
)
def test_a_high_peak_is_no_matter_where_next_to_nothing_lies_about_it(height, mass, ok):
    assert check_peak(height, mass, 208).ok is ok


def test_a_high_peak_is_no_matter_where_the_mass_falls_on_the_way_to_it():
    found = check_peak(270.0, float("nan"), 12, mass_falls=True)
    assert found.ok
    assert found.value == pytest.approx(270 / 22)  # is told all the same
    assert not check_peak(270.0, float("nan"), 12).ok
    # The allowance is ten nats and one a parameter; a height of no number is none.
    assert check_peak(22.0, float("nan"), 12).ok
    assert not check_peak(22.1, float("nan"), 12).ok
    assert not check_peak(float("nan"), float("nan"), 12).ok


@pytest.mark.parametrize(("dim", "little"), [(2, 10.1), (200, 20.0)])
def test_the_mass_of_a_peak_that_is_no_matter_grows_with_the_parameters(dim: int, little: float):
    assert check_peak(1e4, -little - 0.01, dim).ok
    assert not check_peak(1e4, -little + 0.01, dim).ok


def test_a_search_that_still_found_modes_tells_what_to_do():
    assert check_search(False, "so many wanderers").ok
    found = check_search(True, "so many wanderers")
    assert not found.ok
    assert found.name == "search"
    assert "(so many wanderers)" in found.advice
    assert 'search="thorough"' in found.advice
    assert not found.mended_by_draws


@pytest.mark.parametrize("ended", Ended)
def test_an_early_end_is_told_by_its_sentence(ended: Ended):
    found = check_end(ended)
    assert not found.ok
    assert found.advice == f"the run was ended early: {ended.sentence}"
    assert Ended(ended.value) is ended
    assert check_end(None).ok


@pytest.mark.parametrize(
    ("value", "error", "ok"),
    [(0.04, 0.0, True), (0.06, 0.0, False), (-0.3, 0.1, True), (-0.5, 0.1, False)],
)
def test_a_prior_may_be_off_by_what_is_not_known_of_its_integral(value, error, ok):
    found = check_prior_integral(Estimate(value, error))
    assert found.ok is ok
    assert "missing" in found.advice


def test_a_prior_whose_integral_was_not_found_is_not_trusted():
    found = check_prior_integral(Estimate(float("nan"), 0.0))
    assert not found.ok
    assert "check_prior=False" in found.advice


def test_modes_without_a_chain_and_solvers_that_were_stopped():
    assert check_modes(8, 8).ok
    assert not check_modes(9, 8).ok
    assert check_solver(0.0005).ok
    assert not check_solver(0.002).ok


def test_rounding_is_told_of_the_parameter_it_is_worst_for():
    assert check_rounding({"p": 0.0, "s": 0.0004}).ok
    found = check_rounding({"mu": 0.0, "p": 0.02, "s": 0.001})
    assert not found.ok
    assert found.value == 0.02
    assert "p_to_upper" in found.advice


def test_a_second_witness_disagrees_beyond_both_errors():
    first = Estimate(-3.0, 0.3)
    assert check_witness(first, Estimate(-4.9, 0.4), "a way", "").ok  # 3.8 errors
    found = check_witness(first, Estimate(-5.1, 0.4), "a way", "")
    assert not found.ok
    assert found.value == pytest.approx(4.2)
    assert "-5.100" in found.advice
    assert "a way" in found.advice


def test_a_witness_that_was_not_heard_is_no_witness():
    found = check_witness(Estimate(0.0, 0.1), Estimate(0.0, 0.1), "a way", "it rained")
    assert not found.ok
    assert found.advice == "no second estimate was made: it rained"


def test_equal_witnesses_without_errors_agree():
    assert check_witness(Estimate(1.0, 0.0), Estimate(1.0 + 1e-12, 0.0), "a way", "").ok
