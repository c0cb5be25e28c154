"""HMC with trajectories of a fixed length that is jittered from one iteration to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from blackjax.mcmc import hmc
from jaxtyping import Array, Float, Int, Key

from refti.sampling.kernels.gradient_kernel import GradientKernel
from refti.sampling.kernels.unit_metric import unit_metric


def move(
    key: Key[Array, ""],
    state: hmc.HMCState,
    log_density: Callable[..., Float[Array, ""]],
    step_size: Float[Array, ""],
    length: Float[Array, ""],
    most_steps: Int[Array, ""],
) -> tuple[hmc.HMCState, Any]:
    """The state after a trajectory of a length, in steps of at most a size, or fewer of them."""
    steps = jnp.clip(jnp.ceil(length / step_size), 1, most_steps).astype(int)
    return hmc.build_kernel()(key, state, log_density, step_size, unit_metric(), steps)


HMC = GradientKernel(
    "hmc", "Hamiltonian Monte Carlo: trajectories of one length for all chains", move
)
