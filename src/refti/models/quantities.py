"""Quantities: what a model's language knows of its draws and data beside the parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

ByName = Callable[[np.ndarray], Mapping[str, np.ndarray]]
"""From unconstrained points x[n, dim] to values [n, *shape] by name."""


@dataclass(frozen=True, eq=False)
class Quantities:
    """Names of axes, derived values, data, and what each observation adds to the likelihood.

    Attributes:
        dims: the names of the axes of a variable, by the variable's name; those of variables that
            are not in here are numbered.
        coords: the labels along a named axis.
        derived: the values that follow from the parameters, such as PyMC's deterministics; None
            where there are none.
        observed: the data, by the name of the variable that was observed.
        log_likelihoods: the log likelihood of every observation, by the same names; None where it
            is not known one by one.
    """

    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coords: Mapping[str, np.ndarray] = field(default_factory=dict)
    derived: ByName | None = None
    observed: Mapping[str, np.ndarray] = field(default_factory=dict)
    log_likelihoods: ByName | None = None


def data_digest(observed: Mapping[str, np.ndarray]) -> str:
    """The sha256 of the data, whatever their names and order: of values and shapes alone."""
    parts = sorted(
        hashlib.sha256(
            f"{values.shape}".encode() + np.asarray(values, np.float64).tobytes()
        ).digest()
        for values in observed.values()
    )
    return hashlib.sha256(b"".join(parts)).hexdigest()


NOTHING_ELSE = Quantities()
