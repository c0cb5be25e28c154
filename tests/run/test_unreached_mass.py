"""Runs on a spike within a slab, and the check of what lies beyond the peaks."""

from __future__ import annotations

import numpy as np
import pytest

import refti
from refti.checks.of_run import check_unreached_mass
from refti.run import mode_search
from refti.suite import spike_in_slab, spike_in_slab_and_far


def test_both_the_spike_and_the_slab_are_integrated():
    target = spike_in_slab(10)
    result = refti.evidence(target.model(), seed=1, search="quick")
    assert result.trusted, result.reasons
    assert abs(result.value - target.log_z) < 4 * result.error
    assert (result.found["modes"], result.found["broad_parts"]) == (1, 1)
    assert "1 broad part beyond" in result.found["pilot"]


@pytest.mark.long
def test_a_mode_far_from_the_spike_is_found_from_the_slab():
    target = spike_in_slab_and_far(5)
    result = refti.evidence(target.model(), seed=1, search="quick")
    assert result.trusted, result.reasons
    assert abs(result.value - target.log_z) < 4 * result.error
    assert (result.found["modes"], result.found["broad_parts"]) == (2, 1)
    assert "as the widest part known, 15 of its" in result.found["search"]["sentence"]


@pytest.mark.long
def test_a_mode_far_from_draws_that_pass_over_a_slab_is_found():
    """In two dimensions chains pass from the spike to the slab by themselves."""
    target = spike_in_slab_and_far(2)
    result = refti.evidence(target.model(), seed=1, search="quick")
    assert abs(result.value - target.log_z) < 4 * result.error


def test_without_the_slab_the_result_is_not_trusted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mode_search, "find_broad_part", lambda *_: None)
    target = spike_in_slab(10)
    result = refti.evidence(target.model(), seed=1, search="quick")
    assert result.value < target.log_z - 1
    assert [check.name for check in result.checks if not check.ok] == ["beyond the peaks"]


@pytest.mark.parametrize("width", [0.1, 1.0], ids=["of the spike", "of the slab"])
def test_draws_of_one_part_alone_are_not_trusted(width: float):
    target = spike_in_slab(10)
    draws = 0.5 + width * np.random.default_rng(0).normal(size=(4, 500, 10))
    result = refti.evidence(target.model(), seed=1, search="quick", draws={"x": draws})
    assert result.value < target.log_z - 0.3
    assert "beyond the peaks" in [check.name for check in result.checks if not check.ok]


def test_little_mass_beyond_a_peak_is_no_matter():
    assert check_unreached_mass(0.001).ok
    failed = check_unreached_mass(0.7)
    assert not failed.ok
    assert "draws=" in failed.advice
