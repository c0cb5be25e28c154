"""Posterior draws of the user, brought to unconstrained coordinates and checked."""

from __future__ import annotations

import numpy as np

from refti.errors import ModelError
from refti.inputs.posterior.formats import Posterior, read_draws
from refti.inputs.posterior.rounding import undo_rounding
from refti.models.model import Model


def unconstrain_draws(model: Model, draws: Posterior) -> tuple[np.ndarray, int]:
    """The user's posterior draws as x[draw, dim], and how many chains follow one another in them.

    Raises ModelError if they are not the model's.
    """
    flat: dict[str, np.ndarray] = {}
    chains: set[int] = set()
    faults = []
    arrays = read_draws(draws, model.parameters)
    for name, parameter in model.parameters.items():
        values = arrays[name]
        lead = values.ndim - len(parameter.shape)
        if lead not in (1, 2) or values.shape[lead:] != parameter.shape:
            faults.append(
                f'draws= gives "{name}" the shape {values.shape}; expected [draw, '
                f"*{parameter.shape}] or [chain, draw, *{parameter.shape}]."
            )
        else:
            chains.add(values.shape[0] if lead == 2 else 1)
            flat[name] = undo_rounding(values.reshape(-1, *parameter.shape))
    if len({len(values) for values in flat.values()}) > 1:
        faults.append("draws= holds different numbers of draws for different parameters.")
    if faults:
        raise ModelError("\n".join(faults))
    try:
        x = model.space.unconstrain_all(flat)
    except ModelError as error:
        raise ModelError(f"draws= are not draws of this model: {error}") from error
    if len(x) < 2 or not np.all(np.isfinite(x)):
        raise ModelError(
            f"draws= must hold at least two draws inside the supports, none at an edge; got "
            f"{len(x)}, of which {int(np.isfinite(x).all(axis=1).sum())} inside."
        )
    constant = np.flatnonzero(np.ptp(x, axis=0) == 0)
    if len(constant):
        raise ModelError(
            f"draws= must be draws that differ; got {len(x)} of which unconstrained coordinate "
            f"{int(constant[0])} is the same in all. Give posterior draws, or leave out draws=."
        )
    return x, chains.pop() if len(chains) == 1 else 1
