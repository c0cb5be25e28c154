"""What searches and chains ask of a factor, be it a dense matrix or one of linear memory."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import linalg

from refti.factors.factor import Factor, factor_of
from refti.factors.tuning import TUNING


def plain_factor(dim: int) -> np.ndarray | Factor:
    """The factor of the standard normal, dense where every matrix is."""
    return np.eye(dim) if dim <= TUNING.all_dense else factor_of(dim)


def out_rows(factor: Any, u: np.ndarray) -> np.ndarray:
    """factor @ u for points u[n, dim]."""
    return factor.out_rows(u) if isinstance(factor, Factor) else u @ factor.T


def into_rows(factor: Any, x: np.ndarray) -> np.ndarray:
    """The u[n, dim] whose factor @ u are points x[n, dim]."""
    if isinstance(factor, Factor):
        return factor.into_rows(x)
    return solve_rows(factor, x)


def solve_rows(factor: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same by a dense matrix, which is factored anew only where it has to be.

    In a thousand dimensions that takes thirty times as long as a solve with a triangle.
    """
    if len(factor) > TUNING.all_dense and not np.triu(factor, 1).any():
        solved = linalg.solve_triangular(factor, x.T, lower=True, check_finite=False)
    else:
        solved = np.linalg.solve(factor, x.T)
    return np.asarray(solved.T)


def pull_rows(factor: Any, gradients: np.ndarray) -> np.ndarray:
    """factor.T @ gradient for gradients[n, dim]."""
    return factor.pull_rows(gradients) if isinstance(factor, Factor) else gradients @ factor


def log_determinant(factor: Any) -> float:
    """The log of the absolute determinant."""
    if isinstance(factor, Factor):
        return float(factor.log_determinant)
    return float(np.linalg.slogdet(factor)[1])


def on_device(factor: Any) -> Any:
    """The factor in JAX's arrays."""
    return jax.tree.map(jnp.asarray, factor)


def on_host(factor: Any) -> Any:
    """The factor in NumPy's arrays."""
    return jax.tree.map(np.asarray, factor)


def out(factor: Any, u: Any) -> Any:
    """factor @ u for one point u[dim], in JAX."""
    return factor.out(u) if isinstance(factor, Factor) else factor @ u


def out_all(factor: Any, u: Any) -> Any:
    """factor @ u for points u[chain, draw, dim], in JAX."""
    if isinstance(factor, Factor):
        return jax.vmap(jax.vmap(factor.out))(u)
    return u @ factor.T
