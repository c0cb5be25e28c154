"""Hard shapes through whole runs: the coordinates, kernel and chains that a run chooses by itself.

Seeds are fixed. A z-score beyond 4.5 is a false alarm once in 150,000.
"""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import refti
from refti import suite
from refti.draws.autocorrelation import effective_sample_size
from refti.run.pilot import find_posterior
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.sampling.computing import computing
from refti.sampling.engine import open_engine
from refti.sampling.metering import Meter

TOO_FAR = 4.5


@cache
def result(name: str) -> refti.Evidence:
    model = suite.find(name).model()
    return refti.evidence(
        model, target_error=0.1, search="quick", check_prior=False, progress=False
    )


def expect_right(name: str) -> None:
    found = result(name)
    assert found.trusted, str(found)
    assert abs(found.value - suite.find(name).log_z) < TOO_FAR * max(found.error, 1e-9)


class TestCoordinates:
    """Maps where they shorten the way, and none where they do not."""

    def test_a_funnel_from_its_neck(self):
        # Its highest point is thirteen deviations down, where the search for modes ends.
        expect_right("funnel_10")
        found = result("funnel_10")
        assert "scales or means that depend on other parameters" in found.found["coordinates"]
        # In latent coordinates it is all but normal, and what comes back is the funnel again:
        # x[0] is N(0, 3), and the others are normal given it.
        x = found.posterior["x"].values
        worth = float(effective_sample_size(x[:, :, :1].transpose(2, 0, 1))[0])
        assert worth > 500
        assert abs(x[:, :, 0].mean()) < TOO_FAR * 3 / np.sqrt(worth)
        assert abs(x[:, :, 0].std() - 3) < TOO_FAR * 3 / np.sqrt(2 * worth)
        u = x[:, :, 1:] * np.exp(-0.5 * x[:, :, :1])
        assert abs(u.std() - 1) < TOO_FAR / np.sqrt(2 * 9 * worth)

    @pytest.mark.long  # test_choose_reference.py has heavy tails
    def test_heavy_tails(self):
        expect_right("cauchy_2")
        assert "heavy tails" in result("cauchy_2").found["coordinates"]

    @pytest.mark.long  # the funnel gets such coordinates too
    def test_a_centred_hierarchy(self):
        expect_right("eight_schools")
        found = result("eight_schools")
        assert "scales or means that depend on other parameters" in found.found["coordinates"]
        # Named parameters are those of the model, and not of the latent coordinates.
        assert set(found.posterior) == {"mu", "tau", "theta"}
        assert found.posterior["theta"].shape[2:] == (8,)
        assert (found.posterior["tau"].values > 0).all()
        # The known posterior mean of mu is 4.4, its deviation 3.3.
        assert float(found.posterior["mu"].mean()) == pytest.approx(4.4, abs=0.7)

    def test_none_for_a_gaussian(self):
        expect_right("gaussian")
        assert "coordinates" not in result("gaussian").found


class TestKernel:
    """Slices where trajectories are cut up by jumps, and trajectories elsewhere."""

    def test_slices_on_a_staircase(self):
        expect_right("staircase_2")
        assert result("staircase_2").found["kernel"] == "elliptical"
        assert result("staircase_2").settings["kernel"] == "hmc"  # what was asked for

    @pytest.mark.parametrize(
        "name", ["gaussian", "funnel_10", pytest.param("eight_schools", marks=pytest.mark.long)]
    )
    def test_trajectories_on_what_is_smooth(self, name: str):
        assert result(name).found["kernel"] == "hmc"


def test_every_mode_has_a_chain():
    means = np.stack(np.meshgrid([-24.0, -8.0, 9.0, 26.0], [-15.0, 0.0, 14.0]), -1).reshape(-1, 2)
    weights = np.log(np.linspace(1.0, 2.0, 12))

    def log_density(x):
        return jax.nn.logsumexp(weights - 0.5 * jnp.sum((x - means) ** 2, axis=1))

    problem = Problem(refti.Evidence, (refti.Model(log_density, dim=2),), Settings())
    with (
        computing(),
        open_engine(chains=4, kernel="hmc", block_length=25, seed=0, meter=Meter()) as engine,
    ):
        pilot = find_posterior(problem, problem.ends[0], engine)
    assert pilot.modes.count == pilot.chains == 12
    distances = np.linalg.norm(pilot.x[:, -1, None] - means, axis=2)
    assert set(np.argmin(distances, axis=1)) == set(range(12))


def test_a_wall_beside_the_mode_holds_no_chain_and_squeezes_no_coordinates():
    # A third of the points spread about the mode lie where slopes are up to 1e60.
    def log_density(x):
        return -0.5 * jnp.sum(x**2) - jnp.exp(60 * (x[0] - 0.5))

    model = refti.Model(log_density, dim=24)
    problem = Problem(refti.Evidence, (model,), Settings(search="quick"))
    with (
        computing(),
        open_engine(chains=8, kernel="hmc", block_length=25, seed=0, meter=Meter()) as engine,
    ):
        pilot = find_posterior(problem, problem.ends[0], engine)
    # The first is a normal cut at 0.45 or so, the others are normal.
    worth = effective_sample_size(np.moveaxis(pilot.x, 2, 0))
    assert worth.min() > 200
    cut = stats.truncnorm(-np.inf, 0.45)
    assert abs(pilot.draws[:, 0].mean() - cut.mean()) < TOO_FAR * cut.std() / np.sqrt(worth[0])
    assert np.abs(pilot.draws[:, 1:].std(axis=0) - 1).max() < TOO_FAR / np.sqrt(2 * worth.min())
