"""Imports the packages that tests and pages use, which compiles their source to bytecode.

Processes that begin side by side in a fresh environment would each compile all of it: seven seconds
of a processor for every one.
"""

from importlib import import_module

PACKAGES = (
    "arviz",
    "blackjax",
    "distributed",
    "flowjax",
    "funsor",
    "h5netcdf",
    "hypothesis",
    "jax.scipy.stats",
    "matplotlib.pyplot",
    "myst_nb",
    "numba",
    "numpyro.distributions",
    "pymbar",
    "pymc",
    "pytest",
    "refti.cli.main",
    "refti.paper.covid.study",
    "refti.plots",
    "refti.reports",
    "scipy.integrate",
    "scipy.stats",
    "sphinx.application",
    "xarray",
)

if __name__ == "__main__":
    for package in PACKAGES:
        import_module(package)
