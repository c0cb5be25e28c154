"""Length: thermodynamic length against closed forms, its symmetries, and rungs where they lack."""

from __future__ import annotations

import numpy as np
import pytest

from refti.draws.draws import Draws
from refti.paths.thermodynamic_length import measure_segment, missing_rungs
from refti.paths.tuning import TUNING

COUNT = 4000


def shift(distance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Delta at draws of N(0, 1) and of N(distance, 1); the length between them is the distance."""
    noise = np.random.default_rng(seed).normal(size=(2, COUNT))
    lower, upper = noise + np.array([[0.0], [distance]])
    return tuple(distance * x - 0.5 * distance**2 for x in (lower, upper))


def scale(width: float, dim: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Delta at draws of N(0, width^2) and of N(0, 1) in so many dimensions.

    The precision p runs from 1 / width^2 to 1 and delta has the standard deviation
    sqrt(dim / 2) |dp / dlam| / p, so that the length is sqrt(dim / 2) |log width^2|.
    """
    noise = np.random.default_rng(seed).normal(size=(2, COUNT, dim))
    factor = 0.5 * (width**-2 - 1)
    return factor * width**2 * (noise[0] ** 2).sum(axis=1), factor * (noise[1] ** 2).sum(axis=1)


def scale_length(width: float, dim: int) -> float:
    return np.sqrt(2 * dim) * abs(np.log(width))


# The spread is a standard deviation of 4000 draws, known to 1 %, and in between it is reweighted
# or interpolated: the ratio of a length to the true one has itself a spread of 1 to 3 % here.
@pytest.mark.parametrize("distance", [0.1, 1.0, 2.0, 4.0, 8.0])
def test_length_of_a_shift_is_the_distance(distance: float):
    assert measure_segment(*shift(distance)).length == pytest.approx(distance, rel=0.1)


@pytest.mark.parametrize("dim", [1, 10])
@pytest.mark.parametrize("width", [0.5, 0.8, 1.5, 3.0])
def test_length_of_a_scale_is_the_logarithm_of_the_widths(width: float, dim: int):
    found = measure_segment(*scale(width, dim)).length
    assert found == pytest.approx(scale_length(width, dim), rel=0.12)


@pytest.mark.parametrize("width", [0.1, 10.0])
def test_length_of_widths_that_differ_tenfold(width: float):
    # Half of the way is bridged by interpolation alone.
    for dim in (1, 10):
        found = measure_segment(*scale(width, dim)).length
        assert found == pytest.approx(scale_length(width, dim), rel=0.4), dim


@pytest.mark.parametrize(
    "ends",
    [shift(0.5), shift(3.0), shift(8.0), scale(1.5, 4), scale(3.0, 4), scale(10.0, 1)],
    ids=["near", "shifted", "far", "wider", "wide", "tenfold"],
)
def test_there_and_back_are_as_far(ends: tuple[np.ndarray, np.ndarray]):
    lower, upper = ends
    there, back = measure_segment(lower, upper), measure_segment(-upper, -lower)
    assert back.length == pytest.approx(there.length, rel=0.1)


def test_constant_in_both_changes_nothing():
    lower, upper = shift(3.0)
    there, raised = measure_segment(lower, upper), measure_segment(lower + 1e4, upper + 1e4)
    np.testing.assert_allclose(raised.lengths, there.lengths, rtol=1e-6)


def test_length_goes_with_the_size_of_delta_where_all_is_alike():
    # Twice a tiny delta is twice as far: to the first order the weights do not matter.
    lower, upper = (1e-6 * x for x in shift(1.0))
    assert measure_segment(2 * lower, 2 * upper).length == pytest.approx(
        2 * measure_segment(lower, upper).length, rel=1e-5
    )


def test_equal_rungs_are_no_way_apart():
    assert measure_segment(np.full(100, 3.0), np.full(100, 3.0)).length == pytest.approx(
        0, abs=1e-9
    )


def test_order_and_shape_of_draws_do_not_matter():
    lower, upper = shift(2.0)
    same = measure_segment(lower[::-1].reshape(4, -1), upper.reshape(-1, 8))
    assert same.length == pytest.approx(measure_segment(lower, upper).length, rel=1e-9)


def test_parts_of_one_length():
    way = measure_segment(*scale(3.0, 4))
    parts = way.divide(5)
    assert parts.shape == (4,)
    gone = np.interp(np.concatenate([[0.0], parts, [1.0]]), way.fractions, way.lengths)
    assert np.diff(gone) == pytest.approx(np.full(5, way.length / 5))
    # A start that reaches further than the end has its rungs dense near the start.
    assert np.all(np.diff(parts, n=2) > 0)


def ladder(distance: float, lambdas: list[float], seed: int = 0) -> Draws:
    """Exact draws of the path from N(0, 1) to N(distance, 1)."""
    noise = np.random.default_rng(seed).normal(size=(len(lambdas), 4, 500))
    position = noise + distance * np.array(lambdas)[:, None, None]
    return Draws(lambdas, distance * position - 0.5 * distance**2)


def test_a_good_ladder_misses_nothing():
    for draws in (ladder(1.0, [0, 1]), ladder(6.0, [0, 0.2, 0.4, 0.6, 0.8, 1])):
        assert missing_rungs(draws).shape == (0,)


def test_rungs_are_missing_only_between_those_that_hardly_overlap():
    draws = ladder(10.0, [0, 0.1, 0.2, 0.9, 1])
    assert (draws.overlap() < TUNING.enough_overlap).tolist() == [False, False, True, False]
    found = missing_rungs(draws)
    assert 2 <= len(found) <= 6
    assert np.all((found > 0.2) & (found < 0.9))
    assert np.all(np.diff(found) > 0)
    # A shift has one length everywhere, so what is missing is spread evenly.
    assert np.diff([0.2, *found, 0.9]) == pytest.approx(
        np.full(len(found) + 1, 0.7 / (len(found) + 1)), rel=0.3
    )


@pytest.mark.parametrize("distance", [4.0, 20.0, 60.0])
def test_ladders_made_of_what_is_missing_come_to_overlap(distance: float):
    lambdas = [0.0, 1.0]
    for _ in range(8):
        found = missing_rungs(ladder(distance, lambdas))
        assert np.all((found > 0) & (found < 1))
        assert not np.isin(found, lambdas).any()
        if len(found) == 0:
            break
        lambdas = sorted([*lambdas, *found])
    assert ladder(distance, lambdas, seed=1).overlap().min() > 0.8 * TUNING.enough_overlap
    # Not many more than there must be: rungs so far apart that they overlap by 0.3 are 2.4 apart.
    assert distance / 3 < len(lambdas) < 2 + 2 * distance
