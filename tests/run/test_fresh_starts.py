"""Chains begun at draws of the reference, held against those of the run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refti.checks.of_run import check_fresh_starts
from refti.run import fresh_starts
from refti.run.fresh_starts import compare_fresh_starts, is_mixed


def a_leg(exchanged: float, *, leaping: bool = False, at: float = 0.0) -> Any:
    """A leg of three rungs whose chains of the posterior are about some place."""
    draws = at + np.random.default_rng(0).normal(size=(8, 100, 2))
    scans = (
        SimpleNamespace(
            tried=np.array([50, 50]),
            accepted=np.array([40, int(50 * exchanged)]),
            end_points=draws,
        ),
    )
    rungs = (SimpleNamespace(leaping=False), SimpleNamespace(leaping=leaping))
    return SimpleNamespace(exact=True, scans=scans, rungs=rungs)


def a_state(leg: Any) -> Any:
    return SimpleNamespace(legs=(leg,), ended=None)


def test_draws_are_mixed_by_leaps_or_by_every_pair_of_rungs():
    assert is_mixed(a_leg(0.0, leaping=True))
    assert is_mixed(a_leg(0.5))
    assert not is_mixed(a_leg(0.1))


@pytest.mark.parametrize(("at", "agrees"), [(0.0, True), (3.0, False)])
def test_chains_agree_where_they_are_in_the_same_place(
    monkeypatch: pytest.MonkeyPatch, at: float, agrees: bool
):
    fresh = at + np.random.default_rng(1).normal(size=(8, 60, 2))
    monkeypatch.setattr(fresh_starts, "_draw_fresh", lambda leg, engine: fresh)
    (check,) = compare_fresh_starts(a_state(a_leg(0.1)), None)  # type: ignore[arg-type]
    assert check.name == "fresh starts"
    assert check.ok == agrees


def test_none_are_begun_where_it_is_known_already(monkeypatch: pytest.MonkeyPatch):
    def never(leg: object, engine: object) -> np.ndarray:
        raise AssertionError("chains were begun")

    monkeypatch.setattr(fresh_starts, "_draw_fresh", never)
    assert compare_fresh_starts(a_state(a_leg(0.5)), None) == []  # type: ignore[arg-type]
    not_exact = a_leg(0.1)
    not_exact.exact = False
    assert compare_fresh_starts(a_state(not_exact), None) == []  # type: ignore[arg-type]


def test_the_check_says_what_to_do():
    check = check_fresh_starts(2.5)
    assert not check.ok
    assert "reparametrise" in check.advice
