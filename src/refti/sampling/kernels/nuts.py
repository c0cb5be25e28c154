"""NUTS: trajectories that find their own length, and stop where they turn back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blackjax.mcmc import hmc, nuts
from jaxtyping import Array, Float, Int, Key

from refti.sampling.kernels.gradient_kernel import GradientKernel
from refti.sampling.kernels.unit_metric import unit_metric
from refti.sampling.tuning import TUNING


def move(
    key: Key[Array, ""],
    state: hmc.HMCState,
    log_density: Callable[..., Float[Array, ""]],
    step_size: Float[Array, ""],
    length: Float[Array, ""],
    most_steps: Int[Array, ""],
) -> tuple[hmc.HMCState, Any]:
    """The state after a trajectory that doubles until it turns back."""
    del length, most_steps  # it finds its own
    return nuts.build_kernel()(
        key, state, log_density, step_size, unit_metric(), TUNING.most_doublings
    )


NUTS = GradientKernel(
    "nuts", "the no-U-turn sampler: trajectories as long as the density asks for", move
)
