"""The manifest: what a run is, written before it begins, and what tells it from another."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from refti.errors import StoreError
from refti.models.model import Model
from refti.results.files import read_json
from refti.run.problem import Problem
from refti.run.settings import Settings, Station
from refti.run.store.directory import MANIFEST

FORMAT = 2
COMMAND = "REFTI_COMMAND"  # the variable by which processes know the command that began them

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


def circumstances() -> dict[str, Any]:
    """What may change the last digits of a run, or how it is read, but not what it is."""
    names = ("refti", "jax", "jaxlib", "blackjax", "numpyro", "numpy", "scipy")
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC", "XLA_FLAGS")
    return {
        "format": FORMAT,
        "begun": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "versions": {name: version(name) for name in names},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "environment": {name: os.environ.get(name) for name in threads},
        "command": os.environ.get(COMMAND),
    }


def other_circumstances(manifest: Mapping[str, Any]) -> list[str]:
    """Sentences on what is another now than when a run was begun."""
    now, said = circumstances(), []
    before = manifest.get("versions")
    for name, here in now["versions"].items():
        there = before.get(name) if isinstance(before, Mapping) else None
        if there != here:
            said.append(
                f"this run was started with {name} {there} and continues with {here}: its last "
                "digits may differ from those of a run with one version."
            )
    return said


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a directory's run is. Raises StoreError if it cannot be read here."""
    found = read_json(folder / MANIFEST)
    if not isinstance(found, dict) or not isinstance(found.get("format"), int):
        raise StoreError(
            f"{folder / MANIFEST} is not that of a run. Choose an empty or new directory."
        )
    if found["format"] > FORMAT:
        raise StoreError(
            f"{folder} was written by a newer version of refti (format {found['format']}; this one "
            f"reads {FORMAT}). Update refti, or choose another directory."
        )
    return found


def fingerprint(model: Model) -> dict[str, Any]:
    """What tells a model from another: its parameters and its log density at fixed points."""
    noise = np.random.default_rng(0).normal(size=(len(FINGERPRINT_SCALES), model.dim))
    points = model.start + FINGERPRINT_SCALES[:, None] * noise
    values = model.log_densities(points)
    record: dict[str, Any] = {
        "dim": model.dim,
        "parameters": {name: list(s.shape) for name, s in model.parameters.items()},
        "log_density": [float(value) for value in values],
    }
    if model.limits:
        record["limits"] = dict(model.limits)  # which points tell of by chance only
    if model.origin is not None:
        record["origin"] = dict(model.origin)
    record["program"] = _program(model, points[0])
    return record


def _program(model: Model, point: np.ndarray) -> str | None:
    """The sha256 of the density's program with all its constants, the data among them.

    Points tell a program from another only where they happen to lie. It is printed differently by
    another version of JAX. None where there is none to see: models in other languages have an
    origin.
    """
    if not model.has_gradient or model.origin is not None:
        return None
    program = jax.make_jaxpr(model.log_density)(point)
    printed = program.jaxpr.pretty_print(use_color=False)  # JAX has colours on a terminal alone
    text = re.sub(r" at 0x[0-9a-f]+", "", printed)  # where a function happens to lie
    leaves = jax.tree_util.tree_leaves(model.density)
    return _digest([np.frombuffer(text.encode(), dtype=np.uint8), *program.consts, *leaves])


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


def require_same_run(folder: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raises StoreError, naming the field that differs, if a directory's run is another one."""
    if isinstance(found.get("settings"), Mapping):
        # Settings that there were none of then had the values that are the default now.
        found = {**found, "settings": {**Settings().record(), **found["settings"]}}
    versions = found.get("versions")
    if not isinstance(versions, Mapping) or versions.get("jax") != version("jax"):
        wanted = {**wanted, "models": [_without_program(one) for one in wanted["models"]]}
    differences = _differences("", found, wanted)
    if differences:
        # Where a program or data differ, so do densities, which say less.
        first = min(differences, key=lambda one: ".origin." not in one[0])
        raise StoreError(
            f"{folder} holds another run: {_in_words(*first)}. Choose another directory, or go "
            "back to the settings, program and data of that run."
        )


def _in_words(field: str, there: Any, here: Any) -> str:
    """What differs, and what that means where the name of the field alone is a riddle."""
    what = f"{field} was {there}, now {here}"
    means = next((words for part, words in FIELDS.items() if part in field), None)
    return what if means is None else f"{means} ({what})"


FIELDS = {
    ".origin.program_sha256": "the program was edited",
    ".origin.code_sha256": "the program was edited",
    ".origin.prior_sha256": "the program of the prior was edited",
    "data_sha256": "the data are different",
    "values_sha256": "the data are different",
    ".program": "the model's function, or the data in it, are different",
    ".log_density[": "the model's log density at a fixed point is different",
}
"""What it means that a field of a manifest differs, by a part of its name."""


def _without_program(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "program"}


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
        try:
            same = bool(np.isclose(float(found), wanted, rtol=1e-11, atol=0, equal_nan=True))
        except (TypeError, ValueError):
            same = False
        return [] if same else [(name, found, wanted)]
    return [] if found == wanted else [(name, found, wanted)]
