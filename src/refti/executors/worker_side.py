"""What happens in a worker: it marks that a task has begun, runs it, and tells how long it took."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import cloudpickle

from refti.executors.tuning import TUNING


@dataclass(frozen=True)
class Failure:
    """An error as text: some errors cannot be sent, and would take the whole pool with them."""

    kind: str
    message: str
    trace: str


@dataclass(frozen=True)
class Report:
    """What a worker sends back.

    Attributes:
        value: what the task's function returned, packed, or a Failure. It is packed here because
            a value that cannot be sent may never arrive otherwise, and nobody be told (Dask).
        worker: the worker's machine and process.
        began: by the worker's own clock.
        ended: by the same clock.
        megabytes: the most memory the worker has had.
    """

    value: bytes | Failure
    worker: str
    began: float
    ended: float
    megabytes: float


def run_packed(packed: bytes, marker: str | None) -> Report:
    """Runs a function and its arguments, packed together; never raises what they raise.

    Args:
        packed: the two by cloudpickle, from the process that sent them.
        marker: a file to be made when the task begins.
    """
    began = time.monotonic()
    if marker is not None:
        Path(marker).touch()
    value: bytes | Failure
    try:
        function, arguments = cloudpickle.loads(packed)
        value = cloudpickle.dumps(function(*arguments))
    except (Exception, SystemExit) as error:  # a model's file that calls exit() is a bad model
        value = Failure(type(error).__name__, str(error), traceback.format_exc())
    return Report(value, worker_name(), began, time.monotonic(), peak_megabytes())


def worker_name() -> str:
    """This process and its machine."""
    return f"{socket.gethostname()}:{os.getpid()}"


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)  # bytes there, else kilobytes


def begin_worker(parent: int) -> None:
    """Makes this process leave interrupts to its parent, and end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    """Ends this process when it has another parent: nobody waits for its task any longer."""
    while os.getppid() == parent:
        time.sleep(TUNING.parent_seconds)
    os._exit(1)
