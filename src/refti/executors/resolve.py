"""resolve_executor(): from what a user says about where work runs to a pool of workers."""

from __future__ import annotations

from typing import Any

from refti.errors import ExecutorError
from refti.executors.cores import cores
from refti.executors.dask_pool import DaskPool, connect, is_client, local_cluster
from refti.executors.pools import Pool, UsersPool

SCHEMES = ("tcp://", "tls://", "ucx://", "ws://", "wss://")
EXPECTED = (
    'None (this process), a number of processes, "loky" (a process a core), "dask" (a cluster of '
    'this machine), the address of a Dask scheduler such as "tcp://10.0.0.5:8786", a Dask Client, '
    "or anything with the submit() of concurrent.futures.Executor"
)


def resolve_executor(executor: Any, workers: int | None = None) -> Pool | None:
    """The pool that a user means; None for this process.

    Args:
        executor: see EXPECTED.
        workers: the number of processes of "loky" and "dask"; one a core if not given.

    Raises:
        ExecutorError: there is no such pool, it needs an extra, or it does not answer.
    """
    if workers is not None and not _is_count(workers):
        raise ExecutorError(
            f"The number of workers must be a whole number of at least 1; got {workers!r}."
        )
    if executor is None:
        return None
    if _is_count(executor) or executor in ("loky", "processes"):
        # Imported late: it takes a tenth of a second, and many runs need no process but their own.
        from refti.executors.loky_pool import LokyPool

        return LokyPool(executor if _is_count(executor) else workers or cores())
    if executor == "dask":
        return local_cluster(workers or cores())
    if isinstance(executor, str) and executor.startswith(SCHEMES):
        return connect(executor)
    if is_client(executor):
        return DaskPool(executor)
    if not isinstance(executor, str | type) and callable(getattr(executor, "submit", None)):
        return UsersPool(executor)
    raise ExecutorError(f"executor= must be {EXPECTED}; got {executor!r}.")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
