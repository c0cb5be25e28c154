"""NumPyro models as models of refti."""

from refti.inputs.numpyro.source import from_numpyro

__all__ = ["from_numpyro"]
