"""Effective sample size, R-hat and standard error: against ArviZ, closed forms and edge cases."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from refti.draws.autocorrelation import effective_sample_size, r_hat, standard_error


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def autoregressive(phi: float, shape: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """Returns stationary AR(1) series of unit variance, time on the last axis."""
    noise = np.random.default_rng(seed).normal(size=shape)
    noise[..., 1:] *= math.sqrt(1 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=-1)


SERIES = {
    "independent": autoregressive(0.0, (4, 500), 1),
    "slow": autoregressive(0.95, (4, 500), 2),
    "swinging": autoregressive(-0.6, (4, 500), 3),
    "odd length": autoregressive(0.5, (3, 333), 4),
    "two chains": autoregressive(0.8, (2, 1000), 5),
    "short": autoregressive(0.3, (4, 12), 6),
    "one chain is off": autoregressive(0.3, (4, 200), 7) + np.array([[0], [0], [0], [2.0]]),
    "one chain is wide": autoregressive(0.3, (4, 200), 8) * np.array([[1], [1], [1], [4.0]]),
    "ties": np.round(autoregressive(0.5, (4, 400), 9)),
    "large and far": 1e7 + 1e4 * autoregressive(0.5, (4, 400), 10),
}


@pytest.mark.parametrize("name", SERIES)
def test_agrees_with_arviz(name):
    arviz = pytest.importorskip("arviz")
    series = SERIES[name]
    assert effective_sample_size(series) == pytest.approx(
        float(arviz.ess({"x": series}, method="mean")["x"]), rel=1e-6
    )
    assert r_hat(series) == pytest.approx(float(arviz.rhat({"x": series})["x"]), rel=1e-6)
    assert standard_error(series) == pytest.approx(
        float(arviz.mcse({"x": series}, method="mean")["x"]), rel=1e-6
    )


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, -0.3])
def test_autoregressive_closed_form(phi):
    series = autoregressive(phi, (20, 4, 5000), seed=11)
    sizes = effective_sample_size(series)
    truth = 20_000 * (1 - phi) / (1 + phi)
    assert np.mean(sizes) == pytest.approx(truth, rel=0.06)
    # The spread of 400 means is the error each of them claims; 5% is its own standard error.
    means = autoregressive(phi, (400, 4, 500), seed=12)
    claimed = math.sqrt(np.mean(standard_error(means) ** 2))
    assert means.mean(axis=(1, 2)).std() == pytest.approx(claimed, rel=0.15)


def test_size_is_capped_for_swinging_chains():
    series = np.tile([1.0, -1.0], (4, 250)) + 1e-3 * autoregressive(0.0, (4, 500), 1)
    assert effective_sample_size(series) == pytest.approx(2000 * math.log10(2000))


def test_batch_equals_one_at_a_time():
    batch = np.stack([SERIES["independent"], SERIES["slow"], np.full((4, 500), 3.0)])
    for function in (effective_sample_size, r_hat, standard_error):
        assert function(batch) == pytest.approx([function(series) for series in batch])
        assert function(batch[:, None]).shape == (3, 1)


def test_scale_and_shift_change_nothing_but_the_error():
    series = SERIES["slow"]
    for scale in (1e-100, 1e-9, 1e9, 1e150):
        assert effective_sample_size(scale * series) == pytest.approx(effective_sample_size(series))
        assert r_hat(scale * series) == pytest.approx(r_hat(series))
        assert standard_error(scale * series) / scale == pytest.approx(standard_error(series))


@pytest.mark.parametrize("value", [0.0, 3.7, -1e6, 1e-300])
@pytest.mark.parametrize("draws", [1, 3, 4, 9, 10, 501])
def test_constant_series(value, draws):
    series = np.full((4, draws), value)
    series[1] += 2e-16 * value
    assert effective_sample_size(series) == 4 * draws
    assert r_hat(series) == 1.0
    assert standard_error(series) == (0.0 if 4 * draws > 1 else math.inf)


@pytest.mark.parametrize("draws", [2, 3, 9])
def test_too_short_to_see_lags_counts_each_chain_as_one_draw(draws):
    series = autoregressive(0.0, (5, draws), 3)
    assert effective_sample_size(series) == 5
    assert standard_error(series) == pytest.approx(series.std(ddof=1) / math.sqrt(5))
    assert np.isinf(r_hat(series)) == (draws < 4)


def test_one_draw_has_no_known_error():
    assert standard_error([[1.0]]) == math.inf


def test_not_a_number_and_infinities():
    series = SERIES["independent"].copy()
    series[0, 0] = -np.inf
    assert 1.0 <= r_hat(series) < 1.05
    assert effective_sample_size(series) == 0
    assert standard_error(series) == math.inf
    series[0, 0] = np.nan
    assert r_hat(series) == math.inf
    assert effective_sample_size(series) == 0
    assert standard_error(series) == math.inf
    assert r_hat(np.full((4, 100), -np.inf)) == math.inf


def test_one_bad_series_leaves_its_neighbours_alone():
    batch = np.stack([SERIES["independent"], SERIES["slow"]])
    batch[0, 2, 5] = np.nan
    assert np.isinf(r_hat(batch)).tolist() == [True, False]
    assert effective_sample_size(batch)[1] == effective_sample_size(SERIES["slow"])


def test_chains_that_stand_still_apart():
    series = np.repeat(np.arange(4.0)[:, None], 100, axis=1)
    assert r_hat(series) == math.inf
    assert effective_sample_size(series) < 8


def test_refuses_what_is_not_chains_by_draws():
    with pytest.raises(ValueError, match=r"series\[\.\.\., chain, draw\]"):
        effective_sample_size(np.zeros(10))
    with pytest.raises(ValueError, match="not empty"):
        r_hat(np.zeros((4, 0)))
