"""Laws of every kernel: it leaves densities as they are, counts, and has the same bits anywhere.

A new kernel is one file and one row: `random_walk_kernel.py` is that file, and the row is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import refti
from laws.random_walk_kernel import RandomWalk
from refti.cli.main import commands
from refti.paths.path import Leg
from refti.references.gaussian import gaussian
from refti.run.archive import from_bytes, to_bytes
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.sampling.block import Rung, positions, run_block
from refti.sampling.engine import Engine, open_engine
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.metering import Meter
from refti.sampling.rung import move_chains, place_chains
from refti.sampling.whitening import whitening

NEW = RandomWalk()
NAMES = [*KERNELS, NEW.name]
pytestmark = pytest.mark.usefixtures("x64", "_new_row")

SHAPES = np.array([1.5, 4.0])
CHAINS = 2000
LAM = 0.3
# Between this Gaussian and the log of gamma variables no rung is symmetric.
START = gaussian(np.array([0.2, 1.0]), np.array([[1.1, 0.0], [0.3, 0.7]]), 0.4)


@pytest.fixture(autouse=True)
def _new_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KERNELS, NEW.name, NEW)


@cache
def model() -> refti.Model:
    return refti.Model(lambda x: jnp.sum(SHAPES * x - jnp.exp(x)), dim=2)


def leg() -> Leg:
    return Leg(START, model().density)


@pytest.fixture(params=NAMES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(
        chains=CHAINS, kernel=request.param, block_length=4, seed=0, meter=Meter()
    ) as engine:
        yield engine


def exact_draws() -> np.ndarray:
    """Independent draws of the end of the leg."""
    return np.log(np.random.default_rng(1).gamma(SHAPES, size=(CHAINS, 2)))


def placed(engine: Engine, lam: float = 1.0, x: np.ndarray | None = None) -> Rung:
    x = exact_draws() if x is None else x
    factor = np.array([[0.9, 0.0], [0.1, 0.6]])
    return place_chains(
        leg(), lam, x, whitening(np.array([0.1, 1.2]), factor), engine, step_size=0.5
    )


def run(engine: Engine, rung: Rung, key: int = 0, moves: int = 1) -> Any:
    keys = tuple(jax.random.key(100 * key + move) for move in range(moves))
    return run_block(leg(), rung, keys, iterations=engine.block_length, meter=engine.meter)


def far_from_exact(x: np.ndarray) -> float:
    """The smallest p-value of x[draw, dim] against the gamma variables that it is the log of."""
    tests = [stats.kstest(np.exp(x[:, i]), stats.gamma(a).cdf) for i, a in enumerate(SHAPES)]
    return min(test.pvalue for test in tests)


def test_exact_draws_stay_exact_draws(engine: Engine):
    # Begun at exact draws, whatever the number of moves: any fault of a move shows as a drift.
    block = run(engine, placed(engine))
    # Sixteen tests of four kernels at one in a hundred thousand each.
    assert min(far_from_exact(block.trace.x[:, move]) for move in (0, 3)) > 1e-5
    moved = np.any(block.trace.x[:, -1] != exact_draws(), axis=1)
    assert moved.mean() > 0.5


def test_a_wrong_rule_of_acceptance_would_be_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(KERNELS, NEW.name, replace(NEW, wrong_by=0.6))
    with open_engine(
        chains=CHAINS, kernel=NEW.name, block_length=12, seed=0, meter=Meter()
    ) as engine:
        assert far_from_exact(run(engine, placed(engine)).trace.x[:, -1]) < 1e-5


def test_between_the_ends_chains_come_to_the_density_of_that_rung(engine: Engine):
    # Chains begin at draws of the end, which are those of another density.
    rung = placed(engine, LAM)
    for key in range(12):
        block = run(engine, rung, key)
        rung = block.rung
    assert_at_rung(block.trace.x[:, -1])


def assert_at_rung(x: np.ndarray) -> None:
    """Fails if the mean of x[chain, dim] is not that of the rung LAM, log q_lam by quadrature."""
    grid = np.stack(np.meshgrid(np.linspace(-9, 6, 400), np.linspace(-5, 6, 400)), -1)
    points = grid.reshape(-1, 2)
    start = np.asarray(jax.vmap(START.log_density)(jnp.asarray(points)))
    end = np.sum(SHAPES * points - np.exp(points), axis=1)
    weights = np.exp((1 - LAM) * start + LAM * end)
    mean = weights @ points / weights.sum()
    spread = np.sqrt(weights @ (points - mean) ** 2 / weights.sum())
    score = (x.mean(axis=0) - mean) / (spread / np.sqrt(CHAINS))
    assert np.abs(score).max() < 4.5


class TestLeaps:
    """Trajectories with a leap after each leave densities as they are too."""

    @pytest.fixture
    def engine(self) -> Iterator[Engine]:
        with open_engine(
            chains=CHAINS, kernel="hmc", block_length=4, seed=0, meter=Meter()
        ) as engine:
            yield engine

    def test_exact_draws_stay_exact_draws(self, engine: Engine):
        plain, leaping = placed(engine), replace(placed(engine), leaping=True)
        block = run(engine, leaping)
        # Four tests at one in a hundred thousand each.
        assert min(far_from_exact(block.trace.x[:, move]) for move in (0, 3)) > 1e-5
        # The first trajectory is the same, and each leap is one more evaluation.
        without = run(engine, plain).trace
        np.testing.assert_array_equal(block.trace.gradients[:, 0], without.gradients[:, 0] + 1)
        leapt = np.any(block.trace.x[:, 0] != without.x[:, 0], axis=1)
        assert 0.2 < leapt.mean() < 0.95
        assert block.usage.gradient_evaluations == block.trace.gradients.sum()

    def test_between_the_ends_chains_come_to_the_density_of_that_rung(self, engine: Engine):
        rung = replace(placed(engine, LAM), leaping=True)
        for key in range(3):
            block = run(engine, rung, key)
            rung = block.rung
        assert rung.leaping
        assert_at_rung(block.trace.x[:, -1])

    def test_none_are_tried_where_the_start_is_not_drawn_exactly(self, engine: Engine):
        backwards = Leg(leg().end, START)
        factor = np.array([[0.9, 0.0], [0.1, 0.6]])
        rung = place_chains(
            backwards, LAM, exact_draws(), whitening(np.zeros(2), factor), engine, step_size=0.5
        )
        keys = (jax.random.key(0),)
        one, other = (
            run_block(
                backwards, replace(rung, leaping=on), keys, iterations=4, meter=engine.meter
            ).trace
            for on in (False, True)
        )
        np.testing.assert_array_equal(one.x, other.x)
        np.testing.assert_array_equal(one.gradients, other.gradients)


def test_the_trace_tells_the_densities_at_its_points(engine: Engine):
    block = run(engine, placed(engine, LAM))
    x = block.trace.x[:50].reshape(-1, 2)
    start = np.asarray(jax.vmap(START.log_density)(jnp.asarray(x)))
    end = np.sum(SHAPES * x - np.exp(x), axis=1)
    np.testing.assert_allclose(block.trace.delta[:50].ravel(), end - start, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        block.trace.log_density[:50].ravel(), (1 - LAM) * start + LAM * end, rtol=1e-9, atol=1e-9
    )


def test_chains_stand_where_they_were_put_and_where_their_trace_ends(engine: Engine):
    rung = placed(engine)
    np.testing.assert_allclose(positions(leg(), rung), exact_draws(), atol=1e-12)
    block = run(engine, rung, moves=2)
    np.testing.assert_allclose(positions(leg(), block.rung), block.trace.x[:, -1], atol=1e-12)
    assert block.trace.x.shape == (CHAINS, 2 * engine.block_length, 2)
    back = move_chains(leg(), block.rung, exact_draws()[::-1], engine)
    np.testing.assert_allclose(positions(leg(), back), exact_draws()[::-1], atol=1e-12)


def test_the_same_bits_alone_and_side_by_side(engine: Engine):
    rungs = [placed(engine, lam) for lam in (0.2, 0.5, 1.0)]
    alone = [run(engine, rung, key) for key, rung in enumerate(rungs)]
    together = engine.each(lambda k: run(engine, rungs[k], k), range(3))
    for one, other in zip(alone, together, strict=True):
        for a, b in zip(one.trace, other.trace, strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(one.rung.state, other.rung.state, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    # Another key is another block.
    assert np.any(run(engine, rungs[0], 7).trace.x != alone[0].trace.x)


def test_a_state_goes_on_alike_after_it_was_in_a_file(engine: Engine):
    problem = Problem(refti.Evidence, (model(),), Settings())
    rung = run(engine, placed(engine)).rung
    back = from_bytes(to_bytes(rung, problem), problem)
    one, other = run(engine, rung, 3), run(engine, back, 3)
    np.testing.assert_array_equal(one.trace.x, other.trace.x)


def test_a_block_tells_what_it_took(engine: Engine):
    rung = placed(engine)
    before = engine.meter.spent.evaluations
    block = run(engine, rung)
    assert block.usage.evaluations == engine.meter.spent.evaluations - before > 0
    if engine.kernel.needs_gradient:
        assert block.usage.gradient_evaluations == block.trace.gradients.sum()


class TestNewKernel:
    """One file and one row are all that a new kernel takes."""

    def test_it_gives_the_evidence(self):
        target = refti.suite.find("log_gamma")
        result = refti.evidence(
            target.model(), kernel=NEW.name, target_error=0.1, seed=2, progress=False
        )
        assert result.settings["kernel"] == NEW.name
        assert abs(result.log_z - target.log_z) < 4 * result.error

    def test_settings_know_it_and_refuse_others(self):
        assert Settings(kernel=NEW.name).kernel == NEW.name
        with pytest.raises(refti.SettingsError, match=f"'{NEW.name}'.*; got 'gibbs'"):
            Settings(kernel="gibbs")

    def test_the_command_line_names_it(self):
        shown = CliRunner().invoke(commands, ["run", "--help"]).output
        assert all(name in shown for name in NAMES)


def test_every_kernel_is_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    for kernel in [k for name, k in KERNELS.items() if name != NEW.name]:
        assert f'"{kernel.name}"' in page
        assert f'"{kernel.name}": {kernel.summary}' in (refti.evidence.__doc__ or "")
