"""Files: whole or not there at all, whatever kills the writer; JSON and netCDF, never pickle."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refti.errors import StoreError

if TYPE_CHECKING:  # reading what stands in a run directory must not wait for it
    import xarray

LARGEST_JSON = 256 * 2**20  # bytes
SLASH = "\u2215"  # the sign of division, which stands for a slash in the names of a file
SLASHES = "names_with_slashes"
HEADERS = 2**20  # bytes of a netCDF file that hold no values, at the most


def write_json(path: Path, value: Any) -> None:
    """Writes plain values; numbers that are not finite become strings, as JSON has none."""
    write_bytes(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """Plain values as they stand in a file."""
    text = json.dumps(plain(value), indent=2, sort_keys=True, allow_nan=False) + "\n"
    return text.encode()


def read_json(path: Path) -> Any:
    """The plain values of a file; float() reads a number back from a string."""
    try:
        return json.loads(read_plain_file(path, LARGEST_JSON))
    except (ValueError, RecursionError) as error:
        kind = type(error).__name__
        raise StoreError(
            f"{path} cannot be read ({kind}: {error}). The run must be made again."
        ) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Writes bytes as they are: under a temporary name in the same folder, then renamed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_plain_file(path: Path, most: float = math.inf) -> bytes:
    """The bytes of a file that is one: no link, no pipe, and of so many bytes at the most.

    Raises StoreError if it is none, or cannot be read.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(number, "rb") as file:
            found = os.fstat(number)
            if not stat.S_ISREG(found.st_mode):
                raise StoreError(f"{path} is not a regular file. Restore it, or repeat the run.")
            if found.st_size > most:
                raise StoreError(
                    f"{path} has {found.st_size:,} bytes; expected {most:,} at the most."
                )
            return file.read()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}. The run must be made again.") from error


def netcdf_bytes(dataset: xarray.Dataset) -> bytes:
    """The dataset as a file, made in memory: on a full disk the HDF5 library may crash.

    In the file a slash would be a folder, so names that have one are written with another sign.
    """
    names = [str(name) for name in {*dataset.variables, *dataset.dims} if "/" in str(name)]
    if names:
        dataset = dataset.rename({name: name.replace("/", SLASH) for name in names})
        dataset = dataset.assign_attrs({SLASHES: sorted(names)})
    with _without_a_cluster():
        return bytes(dataset.to_netcdf(engine="h5netcdf"))


def read_netcdf(path: Path, digest: str) -> xarray.Dataset:
    """The dataset of a file whose sha256 is the one recorded for it."""
    import xarray

    content = read_plain_file(path)
    found = sha256(content)
    if found != digest:
        raise StoreError(
            f"{path} is not the file this result was saved with: its sha256 is {found[:12]}…, "
            f"expected {digest[:12]}…. Restore it, or make the run again."
        )
    with xarray.open_dataset(io.BytesIO(content), engine="h5netcdf", phony_dims="sort") as dataset:
        # Values that were never written take no room in a file, and any room in memory.
        if dataset.nbytes > len(content) + HEADERS:
            raise StoreError(
                f"{path} has {len(content):,} bytes and claims to hold {dataset.nbytes:,}. "
                "Make the run again in a new directory."
            )
        dataset = dataset.load()
    changed = dataset.attrs.pop(SLASHES, [])
    names = [changed] if isinstance(changed, str) else [str(name) for name in changed]
    return dataset.rename({name.replace("/", SLASH): name for name in names})


@contextmanager
def _without_a_cluster() -> Iterator[None]:
    """The scope in which xarray writes by itself.

    In a worker of Dask it asks the cluster for a lock by the file's name; one in memory has none.
    """
    dask = sys.modules.get("dask")
    if dask is None:
        yield
    else:
        with dask.config.set(scheduler="synchronous"):
            yield


def sha256(content: bytes) -> str:
    """The digest of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def plain(value: Any) -> Any:
    """The value with every number that is not finite as a string."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
