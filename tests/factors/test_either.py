"""Solves with a factor: by its triangle where it has one, and the same either way."""

from __future__ import annotations

import numpy as np
import pytest

from refti.factors.either import out_rows, solve_rows
from refti.factors.tuning import TUNING


@pytest.mark.parametrize("dim", [5, TUNING.all_dense + 1])
@pytest.mark.parametrize("is_triangular", [True, False])
def test_points_come_back_whatever_the_factor(dim: int, is_triangular: bool):
    rng = np.random.default_rng(1)
    factor = np.eye(dim) + rng.normal(size=(dim, dim)) / (4 * np.sqrt(dim))
    if is_triangular:
        factor = np.tril(factor)
    u = rng.normal(size=(3, dim))
    np.testing.assert_allclose(solve_rows(factor, out_rows(factor, u)), u, atol=1e-10)
