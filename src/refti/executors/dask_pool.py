"""Workers of Dask: a cluster by its address or client, or one of this machine, on loopback only."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from refti.errors import ExecutorError
from refti.executors.cores import environment_of_worker
from refti.executors.tuning import TUNING

INSTALL = "pip install 'refti[dask]'"


class DaskPool:
    """The workers that a client of Dask knows.

    On a cluster of the user's, Dask itself sends a call whose worker was lost to another one, as
    often as `distributed.scheduler.allowed-failures` says. On our own cluster it is told not to:
    the supervisor then knows at once, and counts only the tasks that had begun.
    """

    def __init__(self, client: Any, *, own: tuple[Any, ...] = (), counts_itself: bool = True):
        self._client = client
        self._own = own
        self.marks = self.mends_itself = not counts_itself

    @property
    def workers(self) -> int:
        """The threads of all workers there are now."""
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Sends a call.

        Not by Dask's own executor, whose futures have no limit of time while what a worker has
        computed is being fetched: should it die then, they might wait for ever.
        """
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()
        sent = self._client.submit(function, *arguments, pure=False)
        sent.add_done_callback(lambda done: self._fetch(done, answer))
        return answer

    def _fetch(self, done: Any, answer: Future[Any]) -> None:
        """Hands on what a call gave; what died with its worker is computed again by Dask."""
        error: BaseException = TimeoutError("what it returned cannot be fetched")
        for _ in range(TUNING.fetches):
            try:
                answer.set_result(done.result(timeout=TUNING.fetch_seconds))
                return
            except (OSError, TimeoutError) as lost:
                error = lost
            except BaseException as final:
                error = final
                break
        answer.set_exception(error)

    def is_loss(self, error: BaseException) -> bool:
        """Whether the worker, or the scheduler, is gone."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        lost = KilledWorker | FutureCancelledError | CancelledError | OSError | TimeoutError
        return isinstance(error, lost)

    def close(self, *, at_once: bool = False) -> None:
        """Closes what was opened here; a client that the user gave stays open."""
        del at_once
        for part in self._own:
            part.close()


def local_cluster(workers: int) -> DaskPool:
    """A cluster of this machine: reached from this machine alone, by those who have its keys."""
    _require_dask()
    import dask
    from distributed import Client, LocalCluster

    # Dask serves pages about itself over HTTP even without a dashboard, on all interfaces by
    # default: it is left nothing to serve, on loopback.
    no_pages: dict[str, list[str]] = {
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(no_pages):
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            # Whoever can speak to a scheduler can run anything as its user, and on a shared
            # machine everybody reaches loopback.
            security=True,
            silence_logs=logging.CRITICAL,
            env=environment_of_worker(workers),
            scheduler_kwargs={"allowed_failures": 0, "dashboard_address": "127.0.0.1:0"},
        )
    client = Client(cluster, set_as_default=False)
    return DaskPool(client, own=(client, cluster), counts_itself=False)


def connect(address: str) -> DaskPool:
    """The cluster at an address. Raises ExecutorError if it does not answer."""
    _require_dask()
    from distributed import Client

    answer: SimpleQueue[Any] = SimpleQueue()

    def ask() -> None:
        try:
            wait = TUNING.connect_seconds
            answer.put(Client(address, timeout=wait, set_as_default=False))
        except Exception as error:
            answer.put(error)

    # In a thread: Dask itself waits for ever for one who takes the call and says nothing.
    Thread(target=ask, daemon=True).start()
    try:
        client = answer.get(timeout=TUNING.connect_seconds)
    except Empty:
        client = TimeoutError(f"it said nothing for {TUNING.connect_seconds:g} s")
    if isinstance(client, Exception):
        raise ExecutorError(
            f"No Dask scheduler answers at {address} ({type(client).__name__}: {client}). "
            "Expected the address that dask scheduler prints, such as tcp://10.0.0.5:8786; make "
            "sure that it runs and can be reached from here."
        ) from client
    return DaskPool(client, own=(client,))


def is_client(executor: object) -> bool:
    """Whether an object is a client of Dask, told without importing Dask."""
    return any(
        kind.__module__.split(".")[0] == "distributed" and kind.__name__ == "Client"
        for kind in type(executor).__mro__
    )


def _require_dask() -> None:
    try:
        import cryptography  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ExecutorError(
            f"Dask is not installed ({error}). It is an extra of refti: {INSTALL}"
        ) from error
