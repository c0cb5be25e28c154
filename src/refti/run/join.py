"""join_run(): beside whoever leads a run, or in the lead, by its folder and its model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from refti.errors import RefTIError, StoreError
from refti.models.model import Model
from refti.progress import Progress
from refti.results.result import Evidence
from refti.run.one_run import find_result
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.store.manifest import identify, read_manifest, require_same_run
from refti.run.suitability import adapted_to_models
from refti.sampling.computing import computing


def join_run(folder: Path, model: Model, progress: Progress | bool | None = None) -> Evidence:
    """The result of the run that a folder states, of a model that must be its own.

    While another process leads the run its dear blocks are computed here as well; where none does,
    this one goes on with it.

    Raises StoreError if the run is not that of the model, or needs more than the model.
    """
    with computing():
        return cast(Evidence, find_result(problem_of_run(folder, model), folder, progress))


def problem_of_run(folder: Path, model: Model) -> Problem:
    """The problem that a run's manifest states, of a model that must be its own."""
    manifest = read_manifest(folder)
    record: Any = manifest.get("settings")
    if manifest.get("kind") != Evidence.__name__ or manifest.get("draws") is not None:
        raise StoreError(
            f"{folder} holds a run of two models or of given draws, whose blocks cannot be "
            "computed from one model alone; its files can be verified."
        )
    try:
        settings = Settings(**{**record, "reference": _stations(record["reference"])})
    except (KeyError, TypeError, RefTIError) as error:
        raise StoreError(f"{folder} states settings that cannot be used here: {error}") from error
    problem = Problem(Evidence, (model,), adapted_to_models(settings, [model]))
    require_same_run(folder, manifest, identify(problem))
    return problem


def _stations(names: Sequence[str]) -> list[str | int]:
    """References by their names, and orders of Taylor expansion."""
    taylor = "Taylor order "
    return [int(name.removeprefix(taylor)) if name.startswith(taylor) else name for name in names]
