"""Saving: a result as files, all made in memory first, the one that names the others last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refti.draws.draws import Draws
from refti.errors import StoreError
from refti.results.files import json_bytes, netcdf_bytes, plain, sha256, write_bytes, write_json

if TYPE_CHECKING:
    import xarray

FORMAT = 2


def save_result(
    folder: Path,
    record: Mapping[str, Any],
    draws: Sequence[Draws],
    groups: Mapping[str, xarray.Dataset],
    more: Mapping[str, bytes] | None = None,
) -> None:
    """Writes a result to a folder that has none.

    Args:
        folder: which is made if it is not there.
        record: everything but the draws, as plain values.
        draws: of every leg.
        groups: the posterior by the user's names, and what stands beside it, by ArviZ's names.
        more: other files that belong to it.
    """
    if (folder / "result.json").exists():
        raise StoreError(f"{folder} holds a result already. Choose another directory.")
    files = {
        "draws.nc": netcdf_bytes(_dataset(draws)),
        **{f"{name}.nc": netcdf_bytes(group) for name, group in groups.items()},
        **(more or {}),
    }
    digests = {name: sha256(content) for name, content in files.items()}
    record = {**record, "format": FORMAT, "legs": len(draws), "sha256": digests}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_bytes(folder / name, content)
        write_json(folder / "result.json", {**record, "digest": digest_of(record)})
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written to: {error}. Make room or choose another directory, and "
            "save the result there."
        ) from error


def digest_of(record: Mapping[str, Any]) -> str:
    """Of everything that stands in result.json, and so of the files whose digests do."""
    return sha256(json_bytes(plain(record)))


def _dataset(draws: Sequence[Draws]) -> xarray.Dataset:
    import xarray

    return xarray.Dataset(
        {
            name: values
            for i, leg in enumerate(draws)
            for name, values in (
                (f"lambdas_{i}", (f"rung_{i}", leg.lambdas)),
                (f"delta_{i}", ((f"rung_{i}", "chain", "draw"), leg.delta)),
            )
        }
    )
