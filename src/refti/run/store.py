"""The run directory: what a run is, written before it begins, and its result when it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from refti.errors import StoreError
from refti.files import read_json, write_json
from refti.model import Model
from refti.result import Evidence, LogRatio, load

Kind = TypeVar("Kind", Evidence, LogRatio)

FINGERPRINT_POINTS = 4


def open_run(
    path: str | Path, kind: type[Kind], models: Sequence[Model], settings: Mapping[str, Any]
) -> Kind | None:
    """The finished result of this very run, or None after the run has been written down.

    A directory that holds another run, or anything else, is refused and left as it is.
    """
    folder = Path(path)
    identity = {
        "kind": kind.__name__,
        "settings": dict(settings),
        "models": [fingerprint(model) for model in models],
    }
    if (folder / "run.json").exists():
        _refuse_another(folder, read_json(folder / "run.json"), identity)
        if (folder / "result.json").exists():
            result = load(folder)
            assert isinstance(result, kind)
            return result
        return None
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise StoreError(
            f"{folder} exists and holds no refti run. Choose an empty or new directory."
        )
    folder.mkdir(parents=True, exist_ok=True)
    names = ("refti", "jax", "blackjax", "numpyro", "numpy")
    versions = {name: version(name) for name in names}
    write_json(folder / "run.json", {**identity, "versions": versions})
    return None


def fingerprint(model: Model) -> dict[str, Any]:
    """What tells a model from another: its parameters and its log density at fixed points."""
    points = model.start + np.random.default_rng(0).normal(size=(FINGERPRINT_POINTS, model.dim))
    values = np.asarray(jax.jit(jax.vmap(model.log_density))(jnp.asarray(points)))
    return {
        "parameters": {name: list(s.shape) for name, s in model.parameters.items()},
        "log_density": [float(value) for value in values],
    }


def _refuse_another(folder: Path, found: Any, wanted: Mapping[str, Any]) -> None:
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
        same = found is not None and np.isclose(float(found), wanted, rtol=1e-9, equal_nan=True)
        return [] if same else [(name, found, wanted)]
    return [] if found == wanted else [(name, found, wanted)]
