"""The paper's one- and two-dimensional examples, and mismatched densities, by exact values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from refti.paper.mismatch import normals
from refti.paper.one_dimension import exact
from refti.paper.one_dimension import model as one_model
from refti.paper.one_dimension.convergence import iterations_to_stay
from refti.paper.recipe import integrate_spline
from refti.paper.two_dimensions import model as two_model
from refti.paper.two_dimensions.exact import Case
from refti.paper.two_dimensions.expansions import expand_at_mode, expand_at_moments


def test_quadrature_gives_the_known_values():
    assert exact.evidence() == pytest.approx(one_model.EXACT_Z, rel=1e-9)
    assert exact.variance() == pytest.approx(0.418144, abs=5e-7)
    assert exact.laplace_reference(4.0, exact.variance()).z == pytest.approx(1.620888, abs=5e-7)
    assert Case(-0.5, 1).evidence() == pytest.approx(two_model.EXACT_Z["minus"], rel=1e-9)
    assert Case(0.5, 1).evidence() == pytest.approx(two_model.EXACT_Z["plus"], rel=1e-9)
    assert Case(-0.5, 2).evidence() == pytest.approx(3.311659537, rel=1e-9)


def test_the_exact_path_of_the_cusp_leads_to_its_evidence():
    reference, lambdas = exact.laplace_reference(4.01, 0.424), np.linspace(0, 1, 201)
    ratio = integrate_spline(lambdas, exact.expectations(reference, lambdas))
    assert math.log(reference.z) + ratio == pytest.approx(math.log(one_model.EXACT_Z), abs=1e-6)


def test_an_estimate_stays_in_a_band_from_its_last_visit_outside_on():
    running = np.array([0.9, 1.001, 1.02, 1.005, 0.999])
    assert iterations_to_stay(running, 1.0, 0.01, 4) == 16
    assert iterations_to_stay(running[1:2], 1.0, 0.01, 4) == 4
    assert iterations_to_stay(running[:3], 1.0, 0.01, 4) == math.inf


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_moments_of_mismatched_densities_are_those_of_quadrature(lam: float):
    pair = normals.MismatchedPair(1.7)
    mean, scale = pair.mean_and_scale(np.array(lam))

    def moment(order: int) -> float:
        def integrand(x: float) -> float:
            return float(pair.delta(np.array(x)) ** order * norm.pdf(x, mean, scale))

        return float(quad(integrand, mean - 9 * scale, mean + 9 * scale)[0])

    first, variance = pair.delta_moments(np.array(lam))
    assert first == pytest.approx(moment(1), rel=1e-8)
    assert variance == pytest.approx(moment(2) - moment(1) ** 2, rel=1e-7)


def test_replicates_of_mismatched_densities_follow_the_theory():
    pair = normals.MismatchedPair(2.0)
    made = normals.replicate(pair, 4000, seed=5)
    bias = pair.mean_within_range() - pair.delta_moments(np.array(0.0))[0]
    for values, expected in (
        (made.reference_mean, 0.0),
        (made.mean_within_range, bias),
        (made.spline, pair.spline_error()),
    ):
        assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(len(values))
    assert made.spline.std() == pytest.approx(pair.spline_spread(), rel=0.05)
    assert bias > 0.1


def test_the_slope_of_the_density_is_zero_at_its_mode_within_the_bound():
    case = Case(-0.5, 1)
    mode = case.mode()
    steps = 1e-5 * np.eye(2)
    slopes = [case.log_density(*(mode + s)) - case.log_density(*(mode - s)) for s in steps]
    assert np.abs(slopes).max() < 1e-10
    assert Case(0.5, 1).mode() == pytest.approx([0.0, -0.5], abs=1e-6)


def test_the_hessian_is_that_of_finite_differences():
    case, h = Case(-0.5, 2), 1e-4
    mode, steps = case.mode(), h * np.eye(2)
    for i in range(2):
        for j in range(2):
            corners = [
                a * b * case.log_density(*(mode + a * steps[i] + b * steps[j]))
                for a in (1, -1)
                for b in (1, -1)
            ]
            assert case.hessian()[i, j] == pytest.approx(sum(corners) / (4 * h**2), abs=1e-6)


def test_a_bounded_reference_leads_to_the_evidence_and_the_sampled_one_is_no_candidate():
    case = Case(-0.5, 1)
    expansion = expand_at_mode(case, precision=2.0)
    assert expansion.z_by_spline(101) == pytest.approx(case.evidence(), rel=1e-4)
    assert expand_at_moments(case).centre == pytest.approx([0.829, 0.448], abs=1e-3)
    assert expand_at_mode(case).z == pytest.approx(2 * expansion.z)


def test_the_formula_as_printed_is_twice_the_share():
    expansion = expand_at_mode(Case(-0.5, 1)).diagonal()
    centre, scale = expansion.centre[0], math.sqrt(expansion.covariance[0, 0])
    printed = 1 + math.erf(centre / (scale * math.sqrt(2)))
    assert printed == pytest.approx(2 * norm.sf(0, centre, scale))
    assert expansion.share_within_bound() == pytest.approx(printed / 2)
