"""A cluster of Dask on this machine: on loopback, with keys, and its losses are made good."""

from __future__ import annotations

import http.client
import os
from pathlib import Path

import psutil

import worker_tasks
from refti.executors.dask_pool import DaskPool, is_client
from refti.executors.supervisor import Supervisor
from refti.executors.task import Outcome, Task


def test_lost_workers_and_a_client_of_the_users(tmp_path: Path):
    with Supervisor("dask", workers=2) as supervisor:
        pool = supervisor._dispatcher._pool  # type: ignore[union-attr]
        assert isinstance(pool, DaskPool)
        client = pool._client
        assert client.scheduler.address.startswith("tls://127.0.0.1:")
        assert {address for address, _ in listening()} == {"127.0.0.1"}
        for address, port in listening():  # and nobody is shown anything over HTTP
            assert page_at(address, port) != 200
        found: list[Outcome] = []
        tasks = [Task(f"{n}", worker_tasks.square, (n,)) for n in range(10)]
        dies = [
            Task(f"dies {n}", worker_tasks.count_and_die, (_new(tmp_path, n), n)) for n in (1, 9)
        ]
        supervisor.run([*tasks, *dies], found.append)
        done = {outcome.task.name: outcome for outcome in found}
        assert [done[f"{n}"].value for n in range(10)] == [n * n for n in range(10)]
        assert done["dies 1"].value >= 2  # Dask runs a task again whose result died with a worker
        assert "dies 9 was given up" in str(done["dies 9"].error)
        assert is_client(client)
        assert not is_client(pool)
        with Supervisor(client) as again:
            names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
            assert again.submit(Task("", worker_tasks.variables, names)).result() == ["1", "1"]
            worker = again.submit(Task("", worker_tasks.process)).result()
            assert worker != os.getpid()
            # A worker's own files, which xarray would ask the cluster for a lock of.
            assert again.submit(Task("", worker_tasks.netcdf)).result().startswith(b"\x89HDF")
        assert supervisor.submit(Task("", worker_tasks.square, (3,))).result() == 9


def listening() -> set[tuple[str, int]]:
    """The addresses at which this process and its children listen."""
    this = psutil.Process()
    sockets = [s for p in (this, *this.children(recursive=True)) for s in p.net_connections("tcp")]
    return {(s.laddr.ip, s.laddr.port) for s in sockets if s.status == psutil.CONN_LISTEN}


def page_at(address: str, port: int) -> int | None:
    """The status of the front page there; None where no HTTP is spoken."""
    connection = http.client.HTTPConnection(address, port, timeout=5)
    try:
        connection.request("GET", "/info/main/workers.html")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _new(folder: Path, number: int) -> str:
    made = folder / str(number)
    made.mkdir()
    return str(made)
