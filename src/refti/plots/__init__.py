"""Plots: figures of a result or a comparison, each a function `(result, ax=None) -> Axes`.

They need matplotlib: pip install "refti[report]". With `ax=` a figure is drawn into axes of your
own; without it new ones are made. What is drawn comes from the result alone, so one that was saved
and loaded gives the same figure.
"""

from refti.plots.chains import chains
from refti.plots.comparison import bayes_factors, evidences, probabilities
from refti.plots.cost import cost
from refti.plots.estimates import estimates
from refti.plots.modes import modes, search
from refti.plots.overlap import overlap
from refti.plots.path import path, variance
from refti.plots.reference import reference
from refti.plots.running import running

__all__ = [
    "bayes_factors",
    "chains",
    "cost",
    "estimates",
    "evidences",
    "modes",
    "overlap",
    "path",
    "probabilities",
    "reference",
    "running",
    "search",
    "variance",
]
