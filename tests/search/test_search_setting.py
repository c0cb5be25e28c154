"""The setting search=: what is taken, what is refused in words, and what a result says of it."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.run.settings import Settings
from refti.studies import mode_search


def normal() -> refti.Model:
    return refti.Model(lambda x: -0.5 * jnp.sum((x / 3 - 1) ** 2), dim=2)


@pytest.mark.parametrize("search", ["quick", "default", "thorough", 1, 5000, np.int64(7)])
def test_what_is_taken(search):
    kept = Settings(search=search).search
    assert kept == search
    assert type(kept) in (str, int)


@pytest.mark.parametrize("search", [0, -5, 1.5, "hard", "", None, True, [8000], np.zeros(2)])
def test_what_is_refused(search):
    with pytest.raises(
        refti.SettingsError, match=r"search= must be one of .*quick.*; got "
    ) as told:
        Settings(search=search)
    assert 'Use "quick"' in str(told.value)


def test_it_is_refused_before_any_compute():
    with pytest.raises(refti.SettingsError, match="search="):
        refti.evidence(normal(), search=0)
    with pytest.raises(refti.SettingsError, match="search="):
        refti.log_bayes_factor(normal(), normal(), search=0)


def test_a_larger_search_costs_more_and_may_have_missed_less():
    few = mode_search.search_modes(normal(), search=500).searched
    quick = mode_search.search_modes(normal(), search="quick").searched
    usual = mode_search.search_modes(normal()).searched
    assert few.evaluations <= 500 < quick.evaluations < usual.evaluations
    assert few.smallest_share > quick.smallest_share > usual.smallest_share


def test_a_result_says_what_was_searched(tmp_path):
    result = refti.evidence(normal(), search=400, seed=1, progress=False)
    search = result.found["search"]
    assert result.settings["search"] == 400
    assert 0 < search["wanderers"] <= 400
    assert search["smallest_share"] == pytest.approx(1 - 0.05 ** (1 / search["since_new"]))
    assert f"  search: {search['sentence']}" in str(result).splitlines()
    result.save(tmp_path / "kept")
    assert str(refti.load(tmp_path / "kept")) == str(result)


def test_a_search_by_values_alone_says_how_little_it_can():
    model = refti.from_callable(lambda x: float(-0.5 * np.sum((x / 3 - 1) ** 2)), dim=2)
    searched = mode_search.search_modes(model).searched
    assert searched.by_values
    assert 0.3 < searched.smallest_share < 0.5
    assert searched.evaluations > 100


def test_a_narrow_mode_in_a_box_is_found_from_the_prior():
    """Widths 1 and 0.3 in a box of side 20: a share of 0.2 % of a box in three dimensions."""
    first, second = np.full(3, -3.0), np.array([4.0, -4.0, 4.0])

    def log_likelihood(t):
        wide = -0.5 * jnp.sum((t - first) ** 2)
        return jnp.logaddexp(wide, -0.5 * jnp.sum((t - second) ** 2) / 0.09 - 3 * np.log(0.3))

    model = refti.Model(
        log_prior=lambda t: -3 * np.log(20) + 0 * t[0],
        log_likelihood=log_likelihood,
        parameters={"t": refti.interval(-10, 10, shape=(3,))},
    )
    for seed in range(2):
        found = mode_search.search_modes(model, seed=seed)
        assert found.count == 2
        assert found.searched.from_prior > 100


@pytest.mark.long
def test_a_small_budget_is_not_spent_on_narrow_modes():
    model = refti.suite.find("gaussian_scales").model()
    result = refti.evidence(model, max_evaluations=40_000, progress=False)
    assert result.trusted
    assert result.found["search"]["evaluations"] < 18_000
