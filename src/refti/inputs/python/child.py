"""A process beside that calls one function for us, and may crash or hang without harm.

It is started by its file descriptor alone, not by multiprocessing: it neither forks nor runs the
user's script again, and leaves no semaphores behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from refti.inputs.python.calls import Answers, Batch, Call, describe_error

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    )
}
BEGIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from refti.inputs.python.child import serve; serve(int(sys.argv[2]))"
)
WATCH_EVERY = 1.0  # seconds between looks at whether the process that asked is still there


class ChildEndedError(Exception):
    """The process ended in the middle of a call."""


class Child:
    """A process that holds a function. Raises what keeps the function from being there."""

    def __init__(self, call: Call):
        packed = cloudpickle.dumps(call)
        self.connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", BEGIN, json.dumps(sys.path), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what the function prints is no message of ours
                env={**os.environ, **ONE_THREAD},
            )
        try:
            self.connection.send_bytes(packed)
            fault = self.receive()
        except BaseException:
            self.end()
            raise
        if fault is not None:
            self.end()
            raise ImportError(fault)

    def send(self, batch: Batch) -> None:
        """Asks for the answers at all points of a batch."""
        try:
            self.connection.send_bytes(pickle.dumps(dict(batch)))
        except OSError as error:
            raise ChildEndedError(self._how()) from error

    def receive(self) -> Any:
        """What it answers."""
        try:
            return pickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise ChildEndedError(self._how()) from error

    def end(self) -> None:
        """Ends the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self.connection.close()

    def _how(self) -> str:
        """How the process ended, in words."""
        try:
            code = self._process.wait(timeout=WATCH_EVERY)
        except subprocess.TimeoutExpired:
            return "it closed its connection"
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"


def serve(descriptor: int) -> None:
    """What the process does: it takes the function, then calls it until nobody asks any more."""
    # The process that asked hears of Ctrl-C, or its end, and ends its children in good order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    # A pipe that is broken says that nobody asks any more, and is no error.
    with contextlib.suppress(BrokenPipeError), Connection(descriptor) as connection:
        try:
            call: Call = cloudpickle.loads(connection.recv_bytes())
        except Exception as error:  # told in words, instead of a process that is gone
            connection.send_bytes(pickle.dumps(describe_error(error)))
            return
        connection.send_bytes(pickle.dumps(None))
        while True:
            try:
                batch = pickle.loads(connection.recv_bytes())
            except EOFError:
                return
            answers: Answers = call(batch)
            connection.send_bytes(pickle.dumps(answers))


def _end_with_parent(parent: int) -> None:
    """Ends this process if the one that asked is gone, though the function may hang."""
    while os.getppid() == parent:
        time.sleep(WATCH_EVERY)
    os._exit(1)
