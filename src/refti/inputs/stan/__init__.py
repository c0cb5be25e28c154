"""Stan programs with their data, compiled and evaluated by Stan itself."""

from refti.inputs.stan.source import from_stan

__all__ = ["from_stan"]
