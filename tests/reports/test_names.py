"""Parameters of any name: in the posterior, in a file, in every figure and in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure

import refti

SCALARS = ["chain", "draw", "a b|c:d", "größe σ²", "</script><b>$x_1$", "../x", "mu[0]", "mu_dim_0"]
FIGURES = ["path", "variance", "overlap", "estimates", "running", "reference", "chains", "modes"]


def log_density(values: dict[str, Any]) -> Any:
    return -0.5 * sum(jnp.sum((value - 1) ** 2) for value in values.values())


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> refti.Evidence:
    supports = {name: refti.real() for name in SCALARS} | {"mu": refti.real(shape=(2,))}
    folder = tmp_path_factory.mktemp("odd") / "a b|c:ü"
    made = refti.evidence(
        refti.Model(log_density, supports), search="quick", seed=1, store=folder, progress=False
    )
    assert abs(made.log_z - 5 * np.log(2 * np.pi)) < 4 * made.error
    read = refti.load(folder)
    assert isinstance(read, refti.Evidence)
    return read


def test_every_parameter_is_in_the_posterior_in_its_order(result: refti.Evidence):
    # Two are called as the axes of draws are, and give way.
    assert list(result.posterior.data_vars) == ["chain_", "draw_", *SCALARS[2:], "mu"]
    assert result.posterior["mu"].dims == ("chain", "draw", "mu_dim_0_")
    for name in result.posterior.data_vars:
        assert abs(float(result.posterior[name].mean()) - 1) < 0.3


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_can_be_drawn(result: refti.Evidence, figure: str):
    axes = Figure().subplots()
    assert getattr(refti.plots, figure)(result, ax=axes) is axes
    axes.figure.canvas.draw()  # where a name that is taken for mathematics would fail


def test_the_report_shows_the_names_as_they_are(result: refti.Evidence, tmp_path: Path):
    refti.report({"m|:ü</b>$y$": result}, tmp_path / "a b|:ü.html")
    page = (tmp_path / "a b|:ü.html").read_text()
    for shown in ("größe σ²", "a b|c:d", "&lt;/script&gt;&lt;b&gt;$x_1$", "m|:ü&lt;/b&gt;$y$"):
        assert shown in page
    assert "</script>" not in page
