"""Densities of a path as arrays: what the laws of references do not see of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from refti.errors import StoreError
from refti.references.arrays import from_arrays, to_arrays
from refti.references.taylor import TaylorExpansion
from targets import log_gamma

pytestmark = pytest.mark.usefixtures("x64")


@partial(jax.tree_util.register_dataclass, data_fields=["mean"], meta_fields=[])
@dataclass(frozen=True)
class Gaussian:
    """A class of the user's that is called as one of refti's."""

    mean: np.ndarray


def test_an_expansion_comes_back_to_the_bit(tmp_path):
    model = log_gamma()
    expansion = TaylorExpansion(jnp.array([0.1, -0.2, 0.7]), 6, model.log_density)
    kind, arrays = to_arrays(expansion)
    np.savez(tmp_path / "expansion.npz", **arrays)
    with np.load(tmp_path / "expansion.npz", allow_pickle=False) as kept:
        again = from_arrays(kind, dict(kept), model)
    assert jax.tree.structure(again) == jax.tree.structure(expansion)
    np.testing.assert_array_equal(again.mode, expansion.mode)
    assert again.mode.dtype == np.float64


def test_a_reference_of_ones_own_is_not_written():
    with pytest.raises(StoreError, match=r"got Gaussian\. Give it as reference= again"):
        to_arrays(Gaussian(np.zeros(2)))


def test_an_unknown_kind_is_not_read():
    with pytest.raises(StoreError, match=r"kind Gaussian, .*; got 'Spline'"):
        from_arrays("Spline", {}, log_gamma())
