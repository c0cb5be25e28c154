"""Saved results: the result of files that are as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refti.checks.check import Check
from refti.draws.cost import read_cost
from refti.draws.draws import Draws
from refti.errors import StoreError
from refti.estimators import Estimate
from refti.results.files import read_json, read_netcdf
from refti.results.result import Evidence, LogRatio
from refti.results.rungs import read_rung
from refti.results.saving import FORMAT, digest_of

if TYPE_CHECKING:
    import xarray

GROUPS = ("sample_stats", "log_likelihood", "observed_data")  # beside the posterior


def load(path: str | Path) -> Evidence | LogRatio:
    """The result that save() or store= left in a directory."""
    folder = Path(path)
    if not folder.exists():
        raise StoreError(f"There is no folder {folder}.")
    if not (folder / "result.json").exists():
        unfinished = folder / "unfinished" / "result.json"
        and_now = (
            " It holds a run that was cut short: run it again with the same settings to "
            f"continue, or look at what it had with refti.load({str(unfinished.parent)!r})."
            if unfinished.exists()
            else " Give a folder that refti run --store, evidence(store=) or result.save() wrote."
        )
        raise StoreError(f"{folder} holds no finished result (result.json).{and_now}")
    record = read_record(folder)
    try:
        return _read(record, folder)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"{folder} holds a damaged result.json ({type(error).__name__}: {error}). Make the run "
            "again in a new directory."
        ) from error


def read_record(folder: Path) -> dict[str, Any]:
    """The plain values of a result. Raises StoreError if they are not as they were written."""
    record = read_json(folder / "result.json")
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreError(
            f"{folder} holds a result.json that is not of format {FORMAT}, the one read here. "
            "Make the run again in a new directory."
        )
    if record.pop("digest", None) != digest_of(record):
        raise StoreError(
            f"{folder} holds a result.json that was changed after it was written. Restore it, or "
            "make the run again in a new directory."
        )
    return record


def _read(record: Mapping[str, Any], folder: Path) -> Evidence | LogRatio:
    draws = read_netcdf(folder / "draws.nc", record["sha256"]["draws.nc"])
    kind = Evidence if record["kind"] == "Evidence" else LogRatio
    return kind(
        value=float(record["value"]),
        error=float(record["error"]),
        estimates={name: _read_estimate(parts) for name, parts in record["estimates"].items()},
        checks=tuple(_read_check(parts) for parts in record["checks"]),
        draws=tuple(
            Draws(draws[f"lambdas_{i}"].values, draws[f"delta_{i}"].values)
            for i in range(record["legs"])
        ),
        posterior=_dataset(record, folder, "posterior"),
        cost=read_cost(record["cost"]),
        settings=dict(record["settings"]),
        found=dict(record["found"]),
        rungs=tuple(read_rung(parts) for parts in record["rungs"]),
        groups={n: _dataset(record, folder, n) for n in GROUPS if f"{n}.nc" in record["sha256"]},
        reference=_dataset(record, folder, "reference"),
    )


def _dataset(record: Mapping[str, Any], folder: Path, name: str) -> xarray.Dataset:
    return read_netcdf(folder / f"{name}.nc", record["sha256"][f"{name}.nc"])


def _read_estimate(parts: Mapping[str, Any]) -> Estimate:
    names = ("value", "monte_carlo_error", "quadrature_error")
    return Estimate(*(float(parts[name]) for name in names))


def _read_check(parts: Mapping[str, Any]) -> Check:
    numbers = {name: float(parts[name]) for name in ("value", "threshold")}
    return Check(**{**parts, **numbers})
