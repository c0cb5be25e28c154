"""What a result keeps of every rung."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan

import numpy as np
import pytest

from refti.draws.draws import Draws
from refti.results.files import plain
from refti.results.rungs import read_rung, summarise_rungs

LEG = Draws([0, 0.25, 1], np.random.default_rng(0).normal(size=(3, 4, 200)))


def summaries(sampled: int):
    """Those of a leg of three rungs, of which so many have chains."""
    return summarise_rungs(
        1,
        LEG,
        divergences=np.arange(sampled) / 100,
        exchanges=np.array([0.5, np.nan]),
        acceptance=np.full(sampled, 0.8),
        gradients=np.arange(sampled) * 100.0,
    )


def test_each_rung_has_its_own_numbers():
    first, middle, last = summaries(sampled=3)
    assert [rung.lam for rung in (first, middle, last)] == [0, 0.25, 1]
    assert [rung.divergences for rung in (first, middle, last)] == [0, 0.01, 0.02]
    assert [rung.gradients for rung in (first, middle, last)] == [0, 100, 200]
    assert (middle.leg, middle.draws, middle.acceptance) == (1, 800, 0.8)
    assert middle.r_hat == LEG.r_hat()[1]
    assert middle.effective_draws == pytest.approx(800, rel=0.2)


def test_a_start_that_is_drawn_exactly_has_no_chains_to_tell_of():
    first, middle, last = summaries(sampled=2)
    assert isnan(first.divergences)
    assert isnan(first.acceptance)
    assert isnan(first.gradients)
    assert (middle.divergences, last.divergences) == (0, 0.01)


def test_exchanges_belong_to_the_lower_rung_of_a_pair():
    first, middle, last = summaries(sampled=3)
    assert first.exchange == 0.5
    assert isnan(middle.exchange)
    assert isnan(last.exchange)


def test_they_come_back_from_plain_values():
    for rung in summaries(sampled=2):
        assert repr(read_rung(plain(asdict(rung)))) == repr(rung)
