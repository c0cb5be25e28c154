"""Step size: adapted by dual averaging while chains warm up, and fixed at its mean after that."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.models.density import QUICK_COMPILE
from refti.sampling.metering import Meter

# The three numbers of dual averaging, as Hoffman and Gelman (2014) set them.
DELAY, SHRINKAGE, FORGETTING = 10, 0.05, 0.75


class StepSize(NamedTuple):
    """The state of dual averaging (Nesterov 2009, as used by Hoffman and Gelman 2014)."""

    log_step_size: Any  # Float[Array, ""], on the host or the device
    log_step_size_avg: Any
    step: Any
    avg_error: Any
    mu: Any

    @property
    def value(self) -> float:
        """The step size that adaptation arrived at."""
        return float(np.exp(np.asarray(self.log_step_size_avg)))


def fresh_step_size(size: float, meter: Meter) -> StepSize:
    """The adaptation at its beginning, at a given step size."""
    fresh: StepSize = meter.call(_fresh, jnp.asarray(size))
    return fresh


def shorten(steps: StepSize, share: float) -> StepSize:
    """The steps at that share of their size."""
    return steps._replace(log_step_size_avg=steps.log_step_size_avg + np.log(share))


def adapt(
    steps: StepSize, target_acceptance: Float[Array, ""], acceptance: Float[Array, ""]
) -> StepSize:
    """The steps after an iteration in which so many moves were accepted."""
    log_size, average, step, error, mu = steps
    delayed = step + DELAY
    share = step ** (-FORGETTING)
    error = (1 - 1 / delayed) * error + (target_acceptance - acceptance) / delayed
    average = share * log_size + (1 - share) * average
    return StepSize(mu - jnp.sqrt(step) / SHRINKAGE * error, average, step + 1, error, mu)


@partial(jax.jit, compiler_options=QUICK_COMPILE)
def _fresh(size: Float[Array, ""]) -> StepSize:
    start = StepSize(jnp.log(size), 0.0, 1, 0.0, jnp.log(10 * size))
    # Weakly typed numbers would make the first call of a program another than the second.
    return jax.tree.map(
        lambda a: jnp.asarray(a, jnp.result_type(a)).astype(jnp.result_type(a)), start
    )
