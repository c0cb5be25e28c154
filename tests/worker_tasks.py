"""Functions that tests send to other processes, which find them here."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from refti.errors import ModelError, NotTrustedError


def square(number: int) -> int:
    """The square."""
    return number * number


def variables(*names: str) -> list[str]:
    """What the worker's environment says."""
    return [os.environ.get(name, "") for name in names]


def process() -> int:
    """The worker's process."""
    return os.getpid()


def loaded() -> bool:
    """Whether the worker has imported JAX."""
    return "jax" in sys.modules


def fail(kind: str) -> None:
    """Fails in one of several ways."""
    if kind == "ours":
        raise ModelError("This model is bad.")
    if kind == "carries":
        raise NotTrustedError("It is not to be trusted.", object())
    if kind == "exit":
        sys.exit("no more")
    if kind == "unsendable":
        raise Unsendable(1, 2)
    raise ValueError("something else")


class Unsendable(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def unsendable_value() -> object:
    """A value that cannot be sent back."""
    return threading.Lock()


def count_and_die(folder: str, deaths: int) -> int:
    """Kills its process on its first calls; returns how many calls there were."""
    (Path(folder) / f"{time.time_ns()}").touch()
    calls = len(list(Path(folder).iterdir()))
    if calls <= deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return calls


def sleep(seconds: float) -> float:
    """Sleeps."""
    time.sleep(seconds)
    return seconds


def announce_and_sleep(file: str, seconds: float) -> None:
    """Writes down its process and sleeps."""
    Path(file).with_suffix(".new").write_text(str(os.getpid()))
    Path(file).with_suffix(".new").replace(file)
    time.sleep(seconds)


class UnreadableValue:
    """A value that can be sent and cannot be read."""

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return int, ("no number",)


def unreadable_value() -> object:
    """A value that cannot be read where it arrives."""
    return UnreadableValue()


def netcdf() -> bytes:
    """The first bytes of a dataset's file, made in memory."""
    import numpy as np
    import xarray

    from refti.results.files import netcdf_bytes

    return netcdf_bytes(xarray.Dataset({"a": ("x", np.zeros(3))}))[:8]
