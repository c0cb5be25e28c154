"""The choice of slices: where chains set out from, and the coordinates that they end up with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import refti
from refti import suite
from refti.factors.either import on_host
from refti.run import choose_kernel, one_run
from refti.run.rounds import RunState
from refti.run.tuning import ROUNDS
from refti.sampling.kernels.registry import BY_VALUES
from refti.search.tuning import TUNING as SEARCH


def starts(
    monkeypatch: pytest.MonkeyPatch, inside: Any, chains: int = 40
) -> tuple[np.ndarray, np.ndarray]:
    """Where chains set out, and where those of the pilot stand, in a support of some kind."""
    pilots = np.tile([100.0, 200.0], (chains, 1)) + np.arange(chains)[:, None]
    monkeypatch.setattr(choose_kernel, "positions", lambda leg, rung: pilots)
    rng = np.random.default_rng(0)
    engine = SimpleNamespace(generator=lambda stream: rng)

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(inside(x), 0.0, -np.inf), np.zeros_like(x)

    end = SimpleNamespace(
        leg=None, model=SimpleNamespace(start=np.array([5.0, -3.0])), evaluate_by=lambda _: evaluate
    )
    pilot = SimpleNamespace(rung=None)
    return choose_kernel._starts(end, pilot, engine), pilots  # type: ignore[arg-type]


def test_half_of_them_from_the_pilot_and_half_spread_about_the_models_start(
    monkeypatch: pytest.MonkeyPatch,
):
    found, pilots = starts(monkeypatch, lambda x: np.ones(len(x), dtype=bool))
    assert np.array_equal(found[1::2], pilots[1::2])
    spread = found[::2] - [5.0, -3.0]
    assert np.abs(spread).max() <= SEARCH.start_reach
    # Twenty uniform points leave less than a tenth of either side empty but once in eight.
    assert (spread.max(axis=0) > 0.5 * SEARCH.start_reach).all()
    assert (spread.min(axis=0) < -0.5 * SEARCH.start_reach).all()


def test_none_outside_the_support(monkeypatch: pytest.MonkeyPatch):
    found, pilots = starts(monkeypatch, lambda x: x[:, 0] > 5.0)
    moved = (found != pilots).any(axis=1)
    assert 0 < moved.sum() < len(found) / 2
    assert (found[moved, 0] > 5.0).all()
    nowhere, pilots = starts(monkeypatch, lambda x: np.zeros(len(x), dtype=bool))
    assert np.array_equal(nowhere, pilots)


class PlannedError(Exception):
    """Ends a run once it is planned."""


def planned(monkeypatch: pytest.MonkeyPatch, model: refti.Model, seed: int) -> RunState:
    """The state of a run before its first round."""
    states = []

    def end(state: RunState, engine: Any) -> RunState:
        states.append(state)
        raise PlannedError

    monkeypatch.setattr(one_run, "run_rounds", end)
    with pytest.raises(PlannedError):
        refti.evidence(model, seed=seed, progress=False)
    return states[0]


@pytest.mark.long
def test_slices_learn_the_shelves_beside_a_peak_as_well(monkeypatch: pytest.MonkeyPatch):
    # The deviations of the three coordinates by 20,000 exact draws. Learned from the first 25
    # iterations alone, the second was 1.4 times too large and the third 2.5 times.
    exact = np.array([0.183, 0.201, 0.810])
    state = planned(monkeypatch, suite.find("change_point").model(), seed=2)
    assert state.plan.last.kernel == BY_VALUES
    factor = np.asarray(on_host(state.plan.last.whitening.factor))
    found = np.sqrt(np.diag(factor @ factor.T))
    assert (np.abs(np.log(found / exact)) < np.log(1.5)).all()
    # A reference whose tails reach the shelves is looked for, and the first round is a long one.
    assert {"broad_mixture", "student"} <= set(state.plan.choice.lengths)
    assert state.scans_wanted == ROUNDS.first_round_where_it_jumps
