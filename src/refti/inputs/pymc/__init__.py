"""PyMC models, by JAX where it can do them and by Numba where it cannot."""

from refti.inputs.pymc.source import from_pymc

__all__ = ["from_pymc"]
