"""Posteriors: draws as other programs keep them, in memory or in files, as arrays by name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from refti.errors import ModelError
from refti.inputs.posterior.cmdstan import read_chains
from refti.inputs.posterior.fits import find_fit

if TYPE_CHECKING:
    import xarray


class HasPosterior(Protocol):
    """What holds draws in a group of that name, such as ArviZ's InferenceData."""

    @property
    def posterior(self) -> Any:
        """The draws, as an xarray Dataset."""
        ...


File = str | os.PathLike[str]
Posterior = Mapping[Any, Any] | HasPosterior | File | Sequence[File]
"""A dictionary, an xarray Dataset or DataTree, an InferenceData, or files."""


def read_draws(posterior: Posterior, wanted: Iterable[str]) -> dict[str, np.ndarray]:
    """The draws of the parameters wanted, [draw, ...] or [chain, draw, ...]; others are left out.

    Args:
        posterior: where the draws are: a dictionary of arrays, an xarray Dataset, what has such
            a one as its group "posterior" (ArviZ's InferenceData, an xarray DataTree), a netCDF
            file of these or their JSON file, the CSV files of CmdStan, one a chain, the folder
            of one fit that holds them, or a fit of CmdStanPy.
        wanted: the names of the parameters.
    """
    names = list(wanted)
    files = find_fit(posterior)
    if files is not None:
        return _read_files(files, names)
    dataset = _find_dataset(posterior)
    if dataset is not None:
        return _read_dataset(dataset, names, "draws=")
    if not isinstance(posterior, Mapping):
        raise ModelError(
            "draws= must be a dictionary of arrays, an InferenceData, an xarray DataTree or "
            f"Dataset, or files (.csv of CmdStan, .nc); got {type(posterior).__name__}."
        )
    _require_names(names, posterior, "draws=")
    return {name: _to_numbers(name, posterior[name]) for name in names}


def _read_files(files: Sequence[Path], names: Sequence[str]) -> dict[str, np.ndarray]:
    for file in files:
        if not file.is_file():
            raise ModelError(f"draws= names the file {file}, which does not exist.")
    if all(file.suffix == ".csv" for file in files):
        held = read_chains(files, names)
        _require_names(names, held, files[0].name)
        return {name: held[name] for name in names}
    if len(files) == 1 and files[0].suffix == ".nc":
        return _read_netcdf(files[0], names)
    if len(files) == 1 and files[0].suffix == ".json":
        return _read_json(files[0], names)
    raise ModelError(
        "draws= takes CSV files of CmdStan (.csv, one per chain), a folder of them, or one file "
        f"of an InferenceData (.nc or .json); got {', '.join(file.name for file in files)}."
    )


def _find_dataset(posterior: Any) -> xarray.Dataset | None:
    """The Dataset that holds the draws, or None if they are not in xarray's form."""
    import xarray

    if isinstance(posterior, xarray.Dataset):
        return posterior
    groups: dict[Any, Any] = {}
    if isinstance(posterior, Mapping):
        kinds = (xarray.Dataset, xarray.DataTree)
        groups = {name: group for name, group in posterior.items() if isinstance(group, kinds)}
    group = groups.get("posterior", getattr(posterior, "posterior", None))
    if isinstance(group, xarray.DataTree):
        return group.to_dataset()
    if isinstance(group, xarray.Dataset):
        return group
    if isinstance(posterior, xarray.DataTree) and posterior.data_vars:
        return posterior.to_dataset()
    if groups:
        raise ModelError(
            f'draws= has no group "posterior"; got a {type(posterior).__name__} with '
            f"{', '.join(map(str, groups))}."
        )
    return None


def _read_netcdf(file: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    import xarray

    try:
        with xarray.open_dataset(file, group="posterior", engine="h5netcdf") as dataset:
            return _read_dataset(dataset, names, file.name)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f'draws= names the file {file}, of which the group "posterior" cannot be read '
            f"({error}). Expected an InferenceData or DataTree saved as netCDF."
        ) from error


def _read_json(file: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Draws [chain, draw, ...] from ArviZ's JSON, a group of lists by name."""
    try:
        held = json.loads(file.read_text(encoding="utf-8"))["posterior"]
        _require_names(names, held, file.name)
        return {name: _to_numbers(name, held[name]) for name in names}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f'draws= names the file {file}, of which the group "posterior" cannot be read '
            f"({type(error).__name__}: {error}). Expected an InferenceData saved as JSON."
        ) from error


def _read_dataset(
    dataset: xarray.Dataset, names: Sequence[str], place: str
) -> dict[str, np.ndarray]:
    _require_names(names, dataset.data_vars, place)
    held = {}
    for name in names:
        variable = dataset[name]
        lead = [d for d in ("chain", "draw", "sample") if d in variable.dims]
        held[name] = _to_numbers(name, variable.transpose(*lead, ...).values)
    return held


def _require_names(names: Sequence[str], held: Iterable[Any], place: str) -> None:
    there = [str(name) for name in held]
    missing = [name for name in names if name not in there]
    if missing:
        raise ModelError(
            f"{place} must hold every parameter of the model; {', '.join(missing)} missing, got "
            f"{', '.join(there) or 'nothing'}."
        )


def _to_numbers(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f'draws= gives "{name}" as {type(values).__name__}; expected an array of numbers.'
        ) from None
