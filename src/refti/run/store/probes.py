"""Probes: posterior draws of a result at which the model asked about must be the model it is of."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from refti.errors import StoreError
from refti.results.files import read_plain_file, sha256
from refti.results.saved import read_record
from refti.run.npz import pack_arrays, unpack_arrays
from refti.run.problem import Problem
from refti.run.tuning import STORE

FILE = "probes.npz"
SAME = 1e-9  # relative; a density computed on another machine differs in the last digits


def probes_of(problem: Problem, draws: np.ndarray) -> dict[str, bytes]:
    """The file of some posterior draws x[draw, dim] and every model's log density there."""
    points = draws[np.linspace(0, len(draws) - 1, STORE.probes).astype(int)]
    values = [model.log_densities(points) for model in problem.given]
    return {FILE: pack_arrays({"points": points, "log_density": np.stack(values)})}


def require_same_at_probes(problem: Problem, folder: Path) -> None:
    """Raises StoreError if a model differs from that of the finished run where its draws are."""
    digest = read_record(folder)["sha256"].get(FILE)
    if digest is None:
        return
    content = read_plain_file(folder / FILE)
    if digest != sha256(content):
        raise StoreError(f"{folder / FILE} is not the file this result was saved with.")
    try:
        arrays = unpack_arrays(content)
        points, before = arrays["points"], arrays["log_density"]
    except (KeyError, ValueError) as error:
        raise StoreError(f"{folder / FILE} is damaged: {error}.") from error
    now = np.stack([model.log_densities(points) for model in problem.given])
    same = np.isclose(now, before, rtol=SAME, atol=SAME, equal_nan=True)
    if not same.all():
        model, point = np.argwhere(~same)[0]
        raise StoreError(
            f"{folder} holds another run: at one of its posterior draws the log density of model "
            f"{model + 1} was {before[model, point]:.9g}, now {now[model, point]:.9g}. Choose "
            "another directory, or the model and data of that run."
        )
