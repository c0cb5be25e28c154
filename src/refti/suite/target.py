"""Target: a density made when asked for, with the exact log of its integral."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from refti.models.model import Model
from refti.suite.box import Box


@dataclass(frozen=True)
class Target:
    """A test problem whose answer is known.

    Attributes:
        name: what `find` knows it by.
        dim: the number of unconstrained coordinates.
        model: makes the model.
        log_z: its exact log evidence.
        modes: how many peaks the density has; 1 is unimodal.
        about: what is hard about it, in a few words.
        box: the uniform prior and the likelihood that the model is made of, where it is; what a
            nested sampler needs.
    """

    name: str
    dim: int
    model: Callable[[], Model]
    log_z: float
    modes: int
    about: str
    box: Box | None = None

    def __str__(self) -> str:
        return self.name


def in_box(name: str, box: Box, log_z: float, modes: int, about: str) -> Target:
    """The target whose prior is uniform on a box."""
    return Target(name, box.dim, box.model, log_z, modes, about, box)
