"""Files: whole or not there at all, whatever kills the writer; JSON and netCDF, never pickle."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray

from refti.errors import StoreError


def write_json(path: Path, value: Any) -> None:
    """Writes plain values; numbers that are not finite become strings, as JSON has none."""
    text = json.dumps(plain(value), indent=2, sort_keys=True, allow_nan=False) + "\n"
    _atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def read_json(path: Path) -> Any:
    """The plain values of a file; float() reads a number back from a string."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}. The run must be made again.") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Writes bytes as they are."""
    _atomically(path, lambda temporary: temporary.write_bytes(content))


def write_netcdf(path: Path, dataset: xarray.Dataset) -> str:
    """Writes a dataset and returns the sha256 of the file."""
    _atomically(path, lambda temporary: dataset.to_netcdf(temporary, engine="h5netcdf"))
    return _digest(path)


def read_netcdf(path: Path, digest: str) -> xarray.Dataset:
    """The dataset of a file whose sha256 is the one recorded for it."""
    try:
        found = _digest(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}.") from error
    if found != digest:
        raise StoreError(
            f"{path} is not the file this result was saved with: its sha256 is {found[:12]}…, "
            f"expected {digest[:12]}…. Restore it, or make the run again."
        )
    return xarray.load_dataset(path, engine="h5netcdf")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Writes under a temporary name in the same folder, then renames."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def plain(value: Any) -> Any:
    """The value with every number that is not finite as a string."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
