"""Laplace's approximation with the sampled covariance: the paper's start, and its rival."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import xarray

import refti


@dataclass(frozen=True)
class Laplace:
    """The log evidence of a Gaussian about the mean of posterior draws.

    Attributes:
        log_z: log q(mean) + ½ log det(2π covariance), on the unconstrained scale.
        of_half: the same from every other draw. The covariance of few draws in many dimensions is
            too small, so the two differ by about as much as the first is off for that reason.
    """

    log_z: float
    of_half: float

    def __str__(self) -> str:
        return f"{self.log_z:.1f} ({self.of_half:.1f})"


def laplace(model: refti.Model, posterior: xarray.Dataset) -> Laplace:
    """Laplace's approximation from posterior draws."""
    draws = {
        str(name): values.values.reshape(-1, *values.shape[2:])
        for name, values in posterior.data_vars.items()
    }
    with jax.enable_x64(True):
        x = np.asarray(jax.vmap(model.unconstrain)(draws))
    return Laplace(_log_z(model, x), _log_z(model, x[::2]))


def _log_z(model: refti.Model, x: np.ndarray) -> float:
    height = float(model.log_densities(x.mean(axis=0)[None])[0])
    return height + 0.5 * float(np.linalg.slogdet(2 * np.pi * np.cov(x.T))[1])
