"""Runs of thousands of parameters: exact where they can be, and never a dense matrix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse

import refti
from refti import suite
from refti.factors.banded import factor_precision
from refti.factors.factor import Factor, factor_of
from refti.factors.tuning import TUNING as FACTORS
from refti.references.arrays import from_arrays, to_arrays
from refti.references.structured import Structured, fit_bent, log_densities, structured
from refti.results.result import Evidence
from refti.run import archive
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.suitability import adapted_to_models
from refti.sampling.computing import computing
from refti.sampling.kept_points import thin
from refti.sampling.tuning import TUNING as SAMPLING
from refti.sampling.whitening import Whitening

DIM = FACTORS.densest + 20


def series(dim: int = 60) -> Factor:
    """The factor of a series with a band of two."""
    rng = np.random.default_rng(0)
    steps = sparse.diags_array(
        [np.full(dim, 1.0), np.full(dim - 1, -0.6), np.full(dim - 2, 0.2)], offsets=[0, -1, -2]
    ).tocsr()
    matrix = sparse.csr_array(steps.T @ sparse.diags_array(rng.uniform(1, 3, dim)) @ steps)
    banded = factor_precision(matrix, np.zeros(0, int), reverse=True)
    assert banded is not None
    return factor_of(dim, banded)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of matrices of DIM rows and columns, or more, that are made or decomposed."""
    seen: list[tuple[int, ...]] = []

    def watching(function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(first: Any, *others: Any, **options: Any) -> Any:
            shape = np.shape(first) or (first, first)
            if len(shape) > 1 and min(shape[-2:]) >= DIM:
                seen.append(shape)
            return function(first, *others, **options)

        return watched

    for place, names in (
        (np.linalg, ("cholesky", "eigh", "eigvalsh", "inv", "solve", "svd", "qr", "slogdet")),
        (np, ("eye", "diag")),
    ):
        for name in names:
            monkeypatch.setattr(place, name, watching(getattr(place, name)))
    return seen


def test_a_gaussian_series_is_exact_without_a_dense_matrix(
    watched: list[tuple[int, ...]], tmp_path: Path
):
    target = suite.ar1(DIM)
    settings = {"search": "quick", "store": tmp_path / "run", "chains": 4, "warmup": 50}
    result = refti.evidence(target.model(), **settings, progress=False)
    assert result.log_z == pytest.approx(target.log_z, abs=1e-6)
    assert result.trusted
    assert result.found["chosen_reference"] == "laplace"
    assert "no dense matrices were used" in result.found["large"]
    assert f"In {DIM:,} dimensions" in result.found["search"]["sentence"]
    assert watched == []
    # Two gradients for every dimension, as differences of a dense Hessian take, would be as many.
    stages = {stage["stage"]: stage["evaluations"] for stage in result.found["stages"]}
    again = refti.evidence(target.model(), **settings, progress=False)
    assert again.log_z == result.log_z
    assert stages["finding the modes"] < 4 * DIM


class TestStructuredReference:
    def test_it_comes_back_from_arrays_to_the_bit(self):
        draws = series().out_rows(np.random.default_rng(1).normal(size=(500, 60)) ** 3)
        for reference in (fit_bent(draws, series()), structured(np.ones(60), series(), 2.0)):
            name, arrays = to_arrays(reference)
            model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=60)
            again = from_arrays(name, arrays, model)
            for one, other in zip(jax.tree.leaves(reference), jax.tree.leaves(again), strict=True):
                np.testing.assert_array_equal(one, other)

    def test_numpy_and_jax_give_one_density(self):
        draws = series().out_rows(np.random.default_rng(2).normal(size=(500, 60)) ** 3)
        reference = fit_bent(draws, series())
        with computing():
            compiled = np.array([reference.log_density(jnp.asarray(x)) for x in draws[:3]])
        off = compiled - log_densities(reference, draws[:3])
        assert np.ptp(off) < 1e-9

    def test_skewed_steps_are_bent_in_the_order_in_which_they_are_independent(self):
        """Given what was before, steps are log-gamma variables, each with its own skew."""
        rng, forwards = np.random.default_rng(3), series()
        backwards = other_way()
        draws = forwards.out_rows(np.log(rng.gamma(1.5, size=(3000, 60))))
        new = forwards.out_rows(np.log(rng.gamma(1.5, size=(1000, 60))))
        wrong, right = (fit_bent(draws, one) for one in (backwards, forwards))
        chosen = fit_bent(draws, backwards, forwards)
        scores = [np.mean(log_densities(one, new)) for one in (wrong, right, chosen)]
        assert scores[2] == scores[1] > scores[0] + 1.0


def other_way() -> Factor:
    dense = series().out_rows(np.eye(60)).T
    matrix = sparse.csr_array(np.where(np.abs(p := np.linalg.inv(dense @ dense.T)) > 1e-9, p, 0))
    banded = factor_precision(matrix, np.zeros(0, int))
    assert banded is not None
    return factor_of(60, banded)


def test_whitenings_come_back_from_files_to_the_bit():
    model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=60)
    problem = Problem(Evidence, (model,), adapted_to_models(Settings(), [model]))
    written = archive.to_bytes(Whitening(np.ones(60), series()), problem)
    again = archive.from_bytes(written, problem)
    assert isinstance(again.factor, Factor)
    for one, other in zip(jax.tree.leaves(series()), jax.tree.leaves(again.factor), strict=True):
        np.testing.assert_array_equal(one, other)


class TestKeptPoints:
    def test_they_are_evenly_spaced_whenever_scans_were_made(self):
        dim, chains, drawn = 1000, 8, 25
        scans: list[np.ndarray] = []
        for index in range(200):
            block = np.arange(index * drawn, (index + 1) * drawn, dtype=float)
            scans.append(np.broadcast_to(block[None, :, None], (chains, drawn, dim)))
            scans = thin(scans, drawn)
        kept = np.concatenate([scan[0, :, 0] for scan in scans])
        assert sum(scan.size for scan in scans) <= SAMPLING.kept_numbers
        assert {scan.shape[1] for scan in scans} == {12}
        assert set(np.diff(kept)) == {2.0, 3.0}

    def test_all_are_kept_in_a_few_dimensions(self):
        points = [np.zeros((8, 25, FACTORS.all_dense))] * 10_000
        assert thin(points, 25)[0].shape == (8, 25, FACTORS.all_dense)


def test_a_gaussian_has_no_bends():
    assert isinstance(structured(np.zeros(60), series(), 0.0), Structured)
    assert structured(np.zeros(60), series(), 0.0).skew is None
