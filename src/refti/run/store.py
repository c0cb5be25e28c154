"""The run directory: what a run is, written before it begins, and its result when it is done."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from refti.errors import StoreError
from refti.models.model import Model
from refti.results.files import read_json, write_json
from refti.results.result import Evidence, LogRatio, load
from refti.run.problem import Problem
from refti.run.settings import Settings, Station

FINGERPRINT_SCALES = np.repeat([0.1, 1.0, 3.0], 4)  # of the points at which models are compared


def identify(problem: Problem) -> dict[str, Any]:
    """All that decides a run's result, as plain values."""
    settings, draws = problem.settings, problem.posterior_draws
    return {
        "kind": problem.kind.__name__,
        "settings": settings.record(),
        "models": [fingerprint(model) for model in problem.models],
        "reference": [_station(station) for station in settings.stations],
        "draws": None if draws is None else _digest([draws]),
    }


def find_finished(
    path: str | Path, kind: type[Evidence] | type[LogRatio], identity: Mapping[str, Any]
) -> Evidence | LogRatio | None:
    """The result of this very run, if the directory holds it finished.

    A directory that holds another run, or anything else, is refused and left as it is.
    """
    folder = Path(path)
    if (folder / "run.json").exists():
        _require_same_run(folder, read_json(folder / "run.json"), identity)
        if (folder / "result.json").exists():
            result = load(folder)
            assert isinstance(result, kind)
            return result
    elif folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise StoreError(
            f"{folder} exists and holds no refti run. Choose an empty or new directory."
        )
    return None


def begin(path: str | Path, identity: Mapping[str, Any]) -> None:
    """Writes down what the run is, before it samples."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    names = ("refti", "jax", "blackjax", "numpyro", "numpy")
    versions = {name: version(name) for name in names}
    write_json(folder / "run.json", {**identity, "versions": versions})


def fingerprint(model: Model) -> dict[str, Any]:
    """What tells a model from another: its parameters and its log density at fixed points."""
    noise = np.random.default_rng(0).normal(size=(len(FINGERPRINT_SCALES), model.dim))
    points = model.start + FINGERPRINT_SCALES[:, None] * noise
    values = model.log_densities(points)
    record: dict[str, Any] = {
        "parameters": {name: list(s.shape) for name, s in model.parameters.items()},
        "log_density": [float(value) for value in values],
    }
    if model.limits:
        record["limits"] = dict(model.limits)  # which points tell of by chance only
    if not np.isfinite(values).any() and model.has_gradient:
        # Points tell nothing of this density, so its program has to, though it is printed
        # differently by another version of JAX.
        program = jax.make_jaxpr(model.log_density)(points[0])
        text = np.frombuffer(str(program).encode(), dtype=np.uint8)
        record["program"] = _digest([text, *jax.tree_util.tree_leaves(model.density)])
    return record


def _station(station: Station) -> Any:
    if isinstance(station, Model):
        return fingerprint(station)
    if isinstance(station, str | int):
        return station
    return {type(station).__name__: _digest(jax.tree_util.tree_leaves(station))}


def _digest(arrays: Sequence[Any]) -> str:
    total = hashlib.sha256()
    for array in arrays:
        values = np.asarray(array)
        total.update(f"{values.shape}{values.dtype}".encode())
        total.update(values.tobytes())
    return total.hexdigest()


def _require_same_run(folder: Path, found: Any, wanted: Mapping[str, Any]) -> None:
    if isinstance(found, Mapping) and isinstance(found.get("settings"), Mapping):
        # Settings that there were none of then had the values that are the default now.
        found = {**found, "settings": {**Settings().record(), **found["settings"]}}
    for field, there, here in _differences("", found, wanted):
        raise StoreError(
            f"{folder} holds another run: {field} was {there}, now {here}. Choose another "
            "directory, or the settings of that run."
        )


def _differences(name: str, found: Any, wanted: Any) -> list[tuple[str, Any, Any]]:
    """The fields in which two records differ; numbers may differ by rounding."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return [
            difference
            for key in wanted
            for difference in _differences(f"{name}.{key}".lstrip("."), found.get(key), wanted[key])
        ]
    if isinstance(wanted, list | tuple) and isinstance(found, list) and len(found) == len(wanted):
        return [
            difference
            for i, (a, b) in enumerate(zip(found, wanted, strict=True))
            for difference in _differences(f"{name}[{i}]", a, b)
        ]
    if isinstance(wanted, float):
        # A log density recomputed on another machine differs in the last digits.
        same = found is not None and np.isclose(
            float(found), wanted, rtol=1e-11, atol=0, equal_nan=True
        )
        return [] if same else [(name, found, wanted)]
    return [] if found == wanted else [(name, found, wanted)]
